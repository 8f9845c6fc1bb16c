public import Foundation
import MartletKit
import MartletScreens

/// Napton: two apps that the server describes. The address book is that of Napton's manual; the events app is that of
/// its thesis, before and after the change that the thesis measures (T. Ritterfeld, *On-Demand App Development*,
/// University of Twente 2016, section 5.3 and tables 6.1 and 6.2).
public struct NaptonStory: Sendable {
    let story: Story
    let app: ExampleApp
    /// The keys that the apps trust.
    let keys: [DefinitionKey]
    /// The folder for the screens as HTML.
    let pages: URL

    public static func run(_ developer: Developer, pages: URL, _ story: Story = Story()) async throws {
        try FileManager.default.createDirectory(at: pages, withIntermediateDirectories: true)
        try await make(developer, pages: pages, story).tell()
    }

    /// Creates the app on the server, and reads its key once, as a developer does before the first release.
    static func make(_ developer: Developer, pages: URL, _ story: Story) async throws -> NaptonStory {
        let app = try await Napton.setUp(developer)
        let keys = try await app.phone(of: "the developer").definition(Napton.kickIn).publishedKeys()
        return NaptonStory(story: story, app: app, keys: keys, pages: pages)
    }

    func tell() async throws {
        try await readContacts()
        let phone = Scratch.folder()
        let first = try await readEvents(on: phone)
        try await goOffline(phone)
        try await startOffline()
        try await beAttacked(phone)
        let update = try await seePictures(on: phone)
        try compare(first, update)
        try await signUp(on: phone)
        story.says("The screens are pages in \(pages.path), for any browser.")
    }

    // MARK: Chapters

    func readContacts() async throws {
        story.chapter("1. The address book of Napton's manual")
        let ben = Napton(Napton.addressBook, on: phone(), hasRoundImages: false)
        try await story.refuses(.definitionNotSupported, "An app that has no round pictures") {
            try await ben.loader.start()
        }
        let ann = Napton(Napton.addressBook, on: phone())
        let definition = try await ann.loader.start()
        let contacts = try await definition.open()
        let names = Outline().render(contacts.root)
        try story.check(names.count == 9 && names[1] == "Anna  Smith", "The contacts are \(names).")
        show(contacts, Array(names.prefix(3)) + ["…"])
        let contact = try await ann.open("Anna  Smith", on: contacts, of: definition)
        let lines = Outline().render(contact.root)
        try story.check(lines == ["[picture]  Anna  Smith"], "The contact is \(lines).")
        show(contact, lines)
        try save(["contacts": contacts, "contact": contact], of: ann)
    }

    /// - Returns: What the phone has downloaded.
    func readEvents(on folder: URL) async throws -> DefinitionUpdate {
        story.chapter("2. The events app of the introduction week")
        let ann = Napton(Napton.kickIn, on: phone(folder))
        let update = try await ann.loader.refresh()
        try story.check(update.isNew && update.version == 1, "The phone has version \(update.version).")
        let screens = try await screens(ann)
        let lines = Outline().render(screens.event.root)
        let expected = ["Chess", "Monday 24 August 09:30 – 11:00", "Room 5", "Bring a board."]
        try story.check(lines == expected, "The event is \(lines).")
        show(screens.list, Outline().render(screens.list.root))
        show(screens.event, lines)
        try save(["events": screens.list, "event-before": screens.event], of: ann)
        let again = try await ann.loader.refresh()
        try story.check(again.downloadedBytes == 0, "The same version costs \(again.downloadedBytes) bytes again.")
        return update
    }

    func goOffline(_ folder: URL) async throws {
        story.chapter("3. Without a connection")
        let ann = Napton(Napton.kickIn, on: phone(folder, NoConnection()))
        let screens = try await screens(ann)
        for (name, screen) in ["events": screens.list, "event-before": screens.event] {
            try story.check(ann.page(screen) == saved(name), "Without a connection, \(name) looks different.")
        }
        story.says("After a restart, both screens are the same.")
    }

    /// A phone that has never had a connection. The events are not part of the definition.
    func startOffline() async throws {
        let bundle = try await Napton.bundle(Napton.kickIn, of: app)
        let ben = Napton(Napton.kickIn, on: phone(Scratch.folder(), NoConnection()), bundle: bundle)
        let list = try await ben.loader.start().open()
        try story.check(list.title == "Kick-In" && list.failures["Events"] != nil, "Ben's phone shows \(list.title).")
        story.says("A new phone shows the definition that is built into the app, with a list that is still empty.")
    }

    /// The developer publishes a change, but the phone uses the network of somebody who modifies it.
    func beAttacked(_ folder: URL) async throws {
        story.chapter("4. The pictures were forgotten")
        try await Napton.addPictures(to: app)
        try await Napton.change(PackageResources.kick_in_change_json, on: app)
        story.says("The developer adds pictures to the events, and a view for them to the definition.")
        try await refuse("A manifest with another version", on: folder) { path, text in
            path.hasSuffix("/manifest") ? text.replacingOccurrences(of: "\"version\":2", with: "\"version\":9") : text
        }
        try await refuse("Another view than the manifest names", on: folder) { path, text in
            path.contains("/parts/") ? text.replacingOccurrences(of: "image_url", with: "other_url") : text
        }
    }

    /// - Returns: What the phone has downloaded.
    func seePictures(on folder: URL) async throws -> DefinitionUpdate {
        let ann = Napton(Napton.kickIn, on: phone(folder))
        let update = try await ann.loader.refresh()
        try story.check(
            update.version == 2 && update.downloadedParts == ["views/EventDetailView"],
            "The phone has version \(update.version), and downloaded \(update.downloadedParts).")
        let screens = try await screens(ann)
        let lines = Outline().render(screens.event.root)
        try story.check(lines.first == "[picture]" && lines.count == 5, "The event is \(lines).")
        try story.check(ann.page(screens.list) == saved("events"), "The list has changed.")
        story.says("On her own network, Ann's phone downloads the view that has changed, and nothing else.")
        show(screens.event, lines)
        try save(["event-after": screens.event], of: ann)
        return update
    }

    func signUp(on folder: URL) async throws {
        story.chapter("6. A form to sign up")
        try await Napton.change(PackageResources.kick_in_sign_up_json, on: app)
        let ann = Napton(Napton.kickIn, on: phone(folder))
        try await ann.martlet.users.signInAnonymously()
        let definition = try await ann.loader.start()
        let event = try await screens(ann).event
        let form = try await ann.open("Sign up", on: event, of: definition)
        show(form, Outline().render(form.root))
        guard let values = form.nodes.compactMap(\.form).first else { throw StoryError("There is no form.") }
        values["age"] = "17"
        guard case .invalid(let problems)? = try await ann.tap("Sign up", on: form, of: definition).first else {
            throw StoryError("The form was sent although it is not complete.")
        }
        try story.check(
            Set(problems.keys) == ["name", "email", "age", "terms"], "The problems of the form are \(problems).")
        try save(["sign-up": form], of: ann)
        story.says("Ann enters that she is 17. The phone says: “\(problems["age"] ?? "")”")
        for (field, value) in ["name": "Ann", "email": "ann@example.org", "age": "20"] {
            values[field] = .string(value)
        }
        values["terms"] = true
        let outcomes = try await ann.tap("Sign up", on: form, of: definition)
        guard case .alert(_, let message)? = outcomes.last else { throw StoryError("The form says nothing.") }
        let stored = try await app.manage("GET", "storage/signups")["data"]?[0]
        try story.check(stored?["name"] == "Ann" && stored?["age"] == 20, "The server has \(stored ?? .null).")
        story.says("She completes it. The phone says: “\(message)” The server has her name.")
        try await story.refuses(.forbidden, "Ann reads who has signed up") {
            try await ann.martlet.storage.find(SignUp.query())
        }
    }

    // MARK: Steps

    /// A phone that trusts the developer's keys.
    ///
    /// - Parameter folder: What it keeps.
    func phone(_ folder: URL = Scratch.folder(), _ network: any HTTPTransport = URLSessionTransport()) -> Martlet {
        app.phone(of: "Ann", folder: folder) {
            $0.definitionKeys = keys
            $0.transport = network
            $0.retries = .never
        }
    }

    /// The list of events, and what a tap on one of them opens.
    func screens(_ phone: Napton) async throws -> (list: DefinitionScreen, event: DefinitionScreen) {
        let definition = try await phone.loader.start()
        let list = try await definition.open()
        return (list, try await phone.open("Chess", on: list, of: definition))
    }

    /// The phone refuses what comes over this network, and shows what it had.
    func refuse(
        _ what: String, on folder: URL, _ change: @escaping @Sendable (_ path: String, _ text: String) -> String
    ) async throws {
        let ann = Napton(Napton.kickIn, on: phone(folder, TamperingNetwork(change: change)))
        try await story.refuses(.definitionRefused, what) { try await ann.loader.refresh() }
        let offline = Napton(Napton.kickIn, on: phone(folder, NoConnection()))
        let event = try await screens(offline).event
        try story.check(offline.page(event) == saved("event-before"), "\(what) has changed what the phone shows.")
    }

    private func show(_ screen: DefinitionScreen, _ lines: [String]) {
        story.says("┌ \(screen.title)")
        for line in lines { story.says("│ " + line) }
    }

    private func save(_ screens: [String: DefinitionScreen], of phone: Napton) throws {
        for (name, screen) in screens { try Data(phone.page(screen).utf8).write(to: file(name)) }
    }

    private func saved(_ name: String) throws -> String { try String(contentsOf: file(name), encoding: .utf8) }

    private func file(_ name: String) -> URL { pages.appendingPathComponent(name + ".html") }
}

// MARK: - The measures of the thesis

extension NaptonStory {
    /// Prints the cost of the change next to the measurements of the thesis.
    func compare(_ first: DefinitionUpdate, _ update: DefinitionUpdate) throws {
        story.chapter("5. What the change costs, in the thesis and here")
        let lines = Self.lineCount(PackageResources.kick_in_change_json)
        let all = Self.lineCount(PackageResources.kick_in_json)
        let table: [(String, [String])] = [
            ("", ["native", "web", "Napton", "Martlet"]),
            ("lines before", ["382", "71", "120", "\(all)"]),
            ("lines of the change", ["8", "11", "3", "\(lines)"]),
            ("bytes of the update", ["241,610", "3,071", "2,513", Self.grouped(update.downloadedBytes)]),
        ]
        for (name, cells) in table {
            story.says(
                cells.reduce(name.padding(toLength: 20, withPad: " ", startingAt: 0)) { line, cell in
                    line + String(repeating: " ", count: max(1, 10 - cell.count)) + cell
                })
        }
        story.says(
            "Napton loads all files again. The phone had \(Self.grouped(first.downloadedBytes)) bytes, and loads the "
                + "manifest and one view.")
        try story.check(lines <= 3, "The change has \(lines) lines.")
        try story.check(update.downloadedBytes < 2_513, "The update has \(update.downloadedBytes) bytes.")
    }

    /// The number of lines as the thesis counts them: without empty ones.
    private static func lineCount(_ text: [UInt8]) -> Int {
        String(decoding: text, as: UTF8.self).split(separator: "\n").filter {
            !$0.trimmingCharacters(in: .whitespaces).isEmpty
        }.count
    }

    private static func grouped(_ number: Int) -> String {
        number < 1_000 ? "\(number)" : "\(number / 1_000)," + String(format: "%03d", number % 1_000)
    }
}
