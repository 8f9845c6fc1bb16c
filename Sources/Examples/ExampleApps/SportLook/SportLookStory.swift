import Foundation
import MartletKit

/// SportLook: people find others for sports, meet at events and chat. Its rights are rules on the server.
public struct SportLookStory: Sendable {
    static let bern = GeoPoint(latitude: 46.948, longitude: 7.447)
    /// By the Aare, 1 km from the centre of Bern.
    static let court = GeoPoint(latitude: 46.955, longitude: 7.455)
    static let zurich = GeoPoint(latitude: 47.377, longitude: 8.541)

    let story: Story
    let simulators: Simulators
    let app: ExampleApp

    public static func run(_ developer: Developer, _ simulators: Simulators, _ story: Story = Story()) async throws {
        let app = try await SportLook.setUp(developer, simulators)
        try await SportLookStory(story: story, simulators: simulators, app: app).tell()
    }

    func tell() async throws {
        var (ada, ben, cem) = try await registerThree()
        try await showProfiles(ada, ben)
        try await signInByProvider()
        let match = try await arrange(ada, ben)
        try await discover(ada, ben)
        try await searchWithoutConnection(ben, match)
        for phone in [ada, ben, cem] { try await checkChatIsEmpty(phone, match) }
        if simulators.push != nil {
            try await ada.expectPushes()
            try await ben.expectPushes()
            try await cem.expectPushes()
        }
        try await joinAndChat(ada, ben, cem, match)
        try await invite(ben, cem, match)
        try await leave(ada, ben, match)
    }

    // MARK: Chapters

    func registerThree() async throws -> (ada: SportLookPhone, ben: SportLookPhone, cem: SportLookPhone) {
        story.chapter("1. Register")
        let ada = try await SportLookPhone.register("Ada", in: app, at: Self.court, sports: ["tennis", "running"])
        let ben = try await SportLookPhone.register("Ben", in: app, at: Self.bern, sports: ["tennis"])
        let cem = try await SportLookPhone.register("Cem", in: app, at: Self.zurich, sports: ["tennis", "chess"])
        story.says("Ada, Ben and Cem register with an address and a password.")
        try await story.refuses(.signInFailed, "A sign-in with a wrong password") {
            try await app.phone(of: "Eve").users.signIn(
                with: .password("a guess", email: try await ada.app.martlet.users.current?.email ?? ""))
        }
        try await story.refuses(.forbidden, "Reading events without signing in") {
            try await app.phone(of: "Eve").storage.find(Event.query())
        }
        return (ada, ben, cem)
    }

    func showProfiles(_ ada: SportLookPhone, _ ben: SportLookPhone) async throws {
        let picture = Data(PackageResources.ball_png)
        _ = try await ada.app.setPicture(picture, in: ada.profile)
        try await Story.wait(for: "Ada's profile") { try await person(ada.userID, seenBy: ben)?.picture != nil }
        guard let seen = try await person(ada.userID, seenBy: ben), let file = seen.picture else {
            throw StoryError("Ben does not see Ada's profile.")
        }
        try story.check(
            seen.name == "Ada" && seen.sports == ["tennis", "running"], "Ben sees a profile that is not Ada's.")
        let whole = try await ben.app.martlet.files.data(at: file.url)
        let small = try await ben.app.thumbnail(of: file)
        try story.check(whole == picture, "Ben's download is not the picture that Ada uploaded.")
        let (width, smallWidth) = (PNG.width(whole) ?? 0, PNG.width(small) ?? 0)
        try story.check((1..<width).contains(smallWidth), "The thumbnail is \(smallWidth) pixels wide.")
        story.says("Ben sees Ada's profile, and her picture in \(smallWidth) pixels instead of \(width).")
        try await story.refuses(.forbidden, "Ben replaces Ada's picture") {
            try await ben.app.martlet.files.upload(picture, to: file.url)
        }
    }

    func person(_ id: String, seenBy phone: SportLookPhone) async throws -> Stored<Person>? {
        try await phone.app.martlet.storage.get(Person.self, id: id)
    }

    func arrange(_ ada: SportLookPhone, _ ben: SportLookPhone) async throws -> Stored<Event> {
        story.chapter("2. Events")
        let tomorrow = Date().addingTimeInterval(24 * 3_600)
        var match = try await ada.app.arrange("Tennis at the river", "tennis", at: Self.court, on: tomorrow)
        match.details = "Bring a racket"
        match.end = tomorrow.addingTimeInterval(3_600)
        match = try await ada.app.martlet.storage.save(match)
        _ = try await ada.app.arrange("Tennis by the lake", "tennis", at: Self.zurich, on: tomorrow)
        let near = try await ben.app.events(near: Self.bern, within: .kilometers(5))
        try story.check(near.map(\.id) == [match.id], "Ben finds \(near.map(\.title)) within 5 km.")
        story.says("Ada arranges two events. Ben finds “\(near[0].title)” within 5 km: \(near[0].details ?? "").")
        let region = try await ben.app.events(
            southWest: GeoPoint(latitude: 47, longitude: 8), northEast: GeoPoint(latitude: 48, longitude: 9))
        try story.check(region.map(\.title) == ["Tennis by the lake"], "The map shows \(region.map(\.title)).")
        story.says("On his map of the region of Zurich there is “\(region[0].title)”.")
        try await story.refuses(.forbidden, "Ben renames Ada's event") {
            try await ben.app.martlet.storage.update(match, .set(\.title, to: "Ben's"))
        }
        return match
    }

    func discover(_ ada: SportLookPhone, _ ben: SportLookPhone) async throws {
        let players = try await ben.app.people(near: Self.bern, within: .kilometers(10), liking: "tennis")
        let names = players.compactMap(\.name)
        try story.check(names == ["Ben", "Ada"], "Within 10 km, Ben discovers \(names).")
        let runners = try await ben.app.people(near: Self.bern, within: .kilometers(10), liking: "running")
        try story.check(runners.map(\.id) == [ada.userID], "Ben finds runners other than Ada.")
        story.says(
            "Within 10 km, \(names.joined(separator: " and ")) play tennis, and Ada runs. Cem lives too far away.")
    }

    func searchWithoutConnection(_ ben: SportLookPhone, _ match: Stored<Event>) async throws {
        let events = try await ben.app.eventsOnPhone(around: Self.bern)
        try await events.sync()
        await ben.radio.set(isOn: false)
        let near = try await events.find(Event.query().near(\.place, of: Self.bern, within: .kilometers(5)))
        await ben.radio.set(isOn: true)
        try story.check(near.map(\.id) == [match.id], "Without a connection, Ben finds \(near.map(\.title)).")
        story.says("In a tunnel without a connection, Ben's phone still finds “\(near[0].title)”.")
    }

    /// Nobody has written in the chat so far.
    func checkChatIsEmpty(_ phone: SportLookPhone, _ match: Stored<Event>) async throws {
        let seen = try await phone.app.martlet.storage.count(SportLook.messages(of: match))
        try story.check(seen == 0, "\(phone.owner) reads \(seen) messages before anybody has said anything.")
    }

    func joinAndChat(
        _ ada: SportLookPhone, _ ben: SportLookPhone, _ cem: SportLookPhone, _ match: Stored<Event>
    ) async throws {
        story.chapter("3. Join and chat")
        let joined = try await ben.app.join(match)
        try story.check(joined.participants == [ada.userID, ben.userID], "Ben did not join.")
        story.says("Ben joins. He and Ada chat; neither phone polls.")
        try await story.refuses(.forbidden, "Ben adds Cem to the event") {
            try await ben.app.martlet.storage.update(match, .insert([cem.userID], into: \.participants))
        }
        async let heard = Story.within(120, "Ada's message on Ben's phone") { try await firstLine(of: match, on: ben) }
        _ = try await ada.app.say("I have tennis balls", in: match)
        let line = try await heard
        try story.check(line == "I have tennis balls", "Ben read “\(line)”.")
        story.says("Ben reads it at once: “\(line)”")
        let seen = try await cem.app.martlet.storage.find(SportLook.messages(of: match))
        try story.check(seen.isEmpty, "Cem, who does not participate, reads \(seen.map(\.text)).")
        story.says("Cem asks for the same messages and gets none.")
        try await story.refuses(.forbidden, "Cem writes into the chat") { try await cem.app.say("Hello?", in: match) }
        try await checkPush("I have tennis balls", of: match, to: ben, notTo: [ada, cem])
    }

    private func firstLine(of match: Stored<Event>, on phone: SportLookPhone) async throws -> String {
        for try await messages in phone.app.chat(of: match) {
            if let first = messages.first { return first.text }
        }
        throw StoryError("The chat ended.")
    }

    func invite(_ ben: SportLookPhone, _ cem: SportLookPhone, _ match: Stored<Event>) async throws {
        story.chapter("4. Invite")
        _ = try await ben.app.invite(cem.userID, to: match)
        let open = try await cem.app.invitations()
        try story.check(
            open.count == 1 && open[0].event.object?.title == match.title, "Cem has \(open.count) invitations.")
        story.says("Ben invites Cem, who reads: “\(open[0].event.object?.title ?? "")”")
        try await checkPush("You are invited", of: match, to: cem, notTo: [ben])
        try await story.refuses(.forbidden, "Ben accepts for Cem") { try await ben.app.answer(open[0], .accepted) }
        try await cem.app.answer(open[0], .accepted)
        let joined = try await cem.app.join(match)
        try story.check(joined.participants.contains(cem.userID), "Cem did not join.")
        story.says("Cem accepts and joins; \(joined.participants.count) people participate.")
    }

    func leave(_ ada: SportLookPhone, _ ben: SportLookPhone, _ match: Stored<Event>) async throws {
        story.chapter("5. Leave")
        try await story.refuses(.forbidden, "Ben removes Ada") {
            try await ben.app.martlet.storage.update(match, .remove([ada.userID], from: \.participants))
        }
        let left = try await ben.app.leave(match)
        try story.check(!left.participants.contains(ben.userID), "Ben still participates.")
        let seen = try await ben.app.martlet.storage.find(SportLook.messages(of: match))
        try story.check(seen.isEmpty, "Ben has left and still reads the chat.")
        story.says("Ben leaves. From now on he reads nothing of the chat, not even what was said before.")
        try await story.refuses(.forbidden, "Ben deletes the event") { try await ben.app.martlet.storage.delete(match) }
        try await ada.app.martlet.storage.delete(match)
        story.says("Ada deletes the event.")
    }
}

/// The part of PNG that the story needs.
enum PNG {
    /// In pixels; nil if the data is not a PNG picture.
    static func width(_ data: Data) -> Int? {
        let bytes = [UInt8](data.prefix(20))
        guard bytes.count == 20, bytes[1...3].elementsEqual("PNG".utf8) else { return nil }
        return bytes[16..<20].reduce(0) { $0 << 8 | Int($1) }
    }
}
