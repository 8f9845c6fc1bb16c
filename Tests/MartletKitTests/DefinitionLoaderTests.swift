import Foundation
import Testing

@testable import MartletKit
@testable import MartletScreens

/// Against the real server, with the apps of Napton's manual and thesis.
@Suite("App definitions", .enabled(if: LiveServer.shared != nil))
struct DefinitionLoaderTests {
    @Test func `the address book of the manual runs`() async throws {
        let app = try await PublishedApp("address-book")
        await #expect { try await app.device().start() } throws: {
            ($0 as? MartletError)?.code == .definitionNotSupported
        }
        var options = PublishedApp.options
        options.components.addView("RoundImageView")
        let definition = try await app.device(options: options).start()
        #expect(definition.title == "Address Book" && definition.version == 1)
        let contacts = try await definition.open()
        let list = contacts.root.contents[0]
        #expect(contacts.title == "Contacts" && contacts.kind == "NavController" && list.contents.count == 9)
        #expect(
            list.contents.prefix(3).map { $0.contents.map { $0.text("text") } } == [
                ["John", "Doe"], ["Anna", "Smith"], ["Peter", "Jones"],
            ])
        guard case .open(let detail, isModal: false)? = try await definition.perform(list.contents[1].actions).first
        else {
            Issue.record("The row opened nothing.")
            return
        }
        #expect(detail.title == "Contact Details")
        var renderer = HTMLDefinitionRenderer()
        renderer.views["RoundImageView"] = { node, _ in
            let url = HTMLDefinitionRenderer.escape(node.text("url"))
            return "<img src=\"\(url)\" alt=\"\" style=\"width:100%;height:100%;border-radius:50%\">"
        }
        let pages = [contacts, detail].map { renderer.page($0) }
        #expect(pages[0].components(separatedBy: "<li>").count == 10)
        #expect(pages[1].contains("border-radius:50%") && pages[1].contains(">Anna</div>"))
        try DefinitionPages.save(pages[0], "address-book")
        try DefinitionPages.save(pages[1], "address-book-detail")
    }

    @Test func `the events app changes by three lines on the server and one part on the device`() async throws {
        let app = try await PublishedApp("kick-in")
        let folder = Scratch.folder()
        let loader = try app.device(folder: folder)
        let first = try await loader.refresh()
        #expect(first.isNew && first.version == 1 && first.downloadedParts.count == 6)
        let before = try await PublishedApp.pages(try #require(await loader.current))
        #expect(before.list.contains("Chess") && before.list.contains("Mon 09:30"))
        #expect(before.detail.contains("Monday 24 August 09:30 – 11:00") && !before.detail.contains("<img"))
        #expect(try await loader.refresh().downloadedBytes == 0)

        let change = try DefinitionFixture.text("kick-in-change")
        try await app.change(change)
        let update = try await loader.refresh()
        #expect(update.isNew && update.version == 2 && update.downloadedParts == ["views/EventDetailView"])
        #expect(update.downloadedBytes < 3_000)
        let lines = change.trimmingCharacters(in: .newlines).split(separator: "\n").count
        #expect(lines == 3)
        print(
            """
            Kick-In with pictures: \(lines) lines changed on the server, \(update.downloadedBytes) of \
            \(first.downloadedBytes) bytes downloaded (Napton's thesis: 3 lines; 2,513 bytes)
            """)
        let after = try await PublishedApp.pages(try #require(await loader.current))
        #expect(after.list == before.list)
        let image = try #require(after.detail.range(of: "<img src=\"\(PublishedApp.image)\""))
        let title = try #require(after.detail.range(of: ">Chess<"))
        #expect(image.lowerBound < title.lowerBound)
        let place = try #require(after.detail.range(of: ">Room 5<"))
        #expect(title.lowerBound < place.lowerBound)

        // After a rollback the device has every part.
        try await app.server.manage("POST", "config/definition/\(app.name)/rollback", ["version": 1])
        let back = try await loader.refresh()
        #expect(back.isNew && back.version == 3 && back.downloadedParts == [])
        #expect(try await PublishedApp.pages(try #require(await loader.current)).detail == before.detail)

        for (name, page) in [("list", before.list), ("detail-before", before.detail), ("detail-after", after.detail)] {
            try DefinitionPages.save(page, "kick-in-" + name)
        }
    }

    @Test func `without a connection the last good definition runs with the last models`() async throws {
        let app = try await PublishedApp("kick-in")
        let folder = Scratch.folder()
        let online = try await app.device(folder: folder).start()
        let pages = try await PublishedApp.pages(online)
        let offline = try app.device(
            folder: folder, ScriptedTransport { _, _ in throw MartletError(.notConnected, "") })
        let definition = try await offline.start()
        #expect(definition.version == 1)
        let again = try await PublishedApp.pages(definition)
        #expect(again.list == pages.list && again.detail == pages.detail)
        let nothing = try app.device(ScriptedTransport { _, _ in throw MartletError(.notConnected, "") })
        await #expect { try await nothing.start() } throws: { ($0 as? MartletError)?.isConnectionFailure == true }
        // A damaged file counts as no definition.
        let part = try #require(
            FileManager.default.subpaths(atPath: folder.path)?.first { $0.contains(app.name) && $0.contains("part-") })
        try Data("{}".utf8).write(to: folder.appendingPathComponent(part))
        let damaged = try app.device(folder: folder)
        #expect(try await damaged.start().version == 1)
        let repaired = try await PublishedApp.pages(try #require(await damaged.current))
        #expect(repaired.detail == pages.detail)
    }

    @Test func `a stored definition still runs when later versions have removed its parts`() async throws {
        let app = try await PublishedApp("kick-in")
        let folder = Scratch.folder()
        let pages = try await PublishedApp.pages(try await app.device(folder: folder).start())
        let offline = try app.device(
            folder: folder, ScriptedTransport { _, _ in throw MartletError(.notConnected, "") })
        let kept = try #require(await offline.current)
        for change in [try DefinitionFixture.text("kick-in-change"), #"{"name":"Other"}"#] {
            try await app.change(change)
            try await app.device(folder: folder).refresh()
        }
        #expect(try await PublishedApp.pages(kept).detail == pages.detail)
    }

    @Test func `a refresh that fails after a publication is repeated`() async throws {
        let app = try await PublishedApp("kick-in")
        let network = ChangingTransport()
        let loader = try app.device(network)
        try await loader.refresh()
        let count = network.sent.count
        let versions = Locked<[Int]>([])
        let following = Task {
            for await definition in loader.updates() { versions.withLock { $0.append(definition.version) } }
        }
        defer { following.cancel() }
        // The first event of a connection also causes a refresh. The updates keep only the newest version, so the first
        // one must be taken before the second is published.
        try await eventually("there is a refresh") {
            network.sent.count > count && versions.withLock { $0 } == [1]
        }
        let failures = Locked(0)
        network.answer { request, response in
            guard request.url.path.hasSuffix("/manifest"), failures.withLock({ $0 }) == 0 else { return response }
            failures.withLock { $0 += 1 }
            throw MartletError(.connectionLost, "")
        }
        try await app.change(DefinitionFixture.text("kick-in-change"))
        try await eventually("the new definition has arrived") { versions.withLock { $0 } == [1, 2] }
        #expect(failures.withLock { $0 } == 1)
    }

    @Test func `an answer that is too large is not read to its end`() async throws {
        let configuration = try #require(LiveServer.shared).configuration()
        var request = HTTPRequest(
            method: "GET", url: configuration.url.appendingPathComponent("api/x/definitions/keys"))
        #expect(try await URLSessionTransport().send(request, progress: nil).body.count > 10)
        request.maximumAnswerSize = 10
        await #expect { try await URLSessionTransport().send(request, progress: nil) } throws: {
            ($0 as? MartletError)?.code == .unexpectedAnswer
        }
    }

    @Test func `parts can be loaded when their screen is opened`() async throws {
        let app = try await PublishedApp("kick-in")
        let network = ChangingTransport()
        var options = PublishedApp.options
        options.loadsOnDemand = true
        let loader = try app.device(network, options: options)
        let update = try await loader.refresh()
        #expect(
            Set(update.downloadedParts) == [
                "app.json", "controllers/EventListController", "views/EventListView", "views/EventRow",
            ])
        let definition = try #require(await loader.current)
        let list = try await definition.open()
        let count = network.sent.count
        guard case .open(let detail, _)? = try await definition.perform(list.root.contents[0].contents[0].actions).first
        else {
            Issue.record("The row opened nothing.")
            return
        }
        #expect(detail.nodes.contains { $0.text("text") == "Chess" })
        #expect(network.sent.count == count + 2)
    }

    @Test func `a debug build downloads everything again`() async throws {
        let app = try await PublishedApp("kick-in")
        var options = PublishedApp.options
        options.alwaysRefreshes = true
        let loader = try app.device(options: options)
        let first = try await loader.refresh()
        let second = try await loader.refresh()
        #expect(second.downloadedParts.sorted() == first.downloadedParts.sorted())
        #expect(second.downloadedBytes == first.downloadedBytes && !second.isNew)
        #if DEBUG
        #expect(DefinitionOptions().alwaysRefreshes)
        #endif
    }

    @Test func `a publication arrives by itself, and a preview shows the draft`() async throws {
        let app = try await PublishedApp("kick-in")
        let loader = try app.device()
        try await loader.refresh()
        let versions = Locked<[Int]>([])
        let following = Task {
            for await definition in loader.updates() { versions.withLock { $0.append(definition.version) } }
        }
        defer { following.cancel() }
        try await eventually("the first definition has arrived") { versions.withLock { $0 } == [1] }
        try await app.patch(DefinitionFixture.text("kick-in-change"))
        var options = PublishedApp.options
        let preview = try await app.server.manage("POST", "config/definition/\(app.name)/preview", ["hours": 1])
        options.preview = preview["preview"]?.stringValue
        let draft = try await app.device(options: options).start()
        #expect(try await PublishedApp.pages(draft).detail.contains("<img"))
        try await app.server.manage("POST", "config/definition/\(app.name)/publish")
        try await eventually("the new definition has arrived") { versions.withLock { $0 } == [1, 2] }
    }

    @Test func `a user signs up by a form of the definition`() async throws {
        let signUps = TestServer.name("SignUps")
        let app = try await PublishedApp(
            "kick-in",
            adding: #""requires":{"TextField":1,"Toggle":1,"Picker":1,"DatePicker":1,"Form":1,"MapView":1},"#)
        try await app.change(
            DefinitionFixture.text("kick-in-sign-up").replacingOccurrences(
                of: "/storage/signups", with: "/storage/" + signUps))
        let loader = try app.device()
        let definition = try await loader.start()
        let list = try await definition.open()
        let detail = try await PublishedApp.next(definition, list.root.contents[0].contents[0])
        let renderer = HTMLDefinitionRenderer()
        #expect(renderer.page(detail).contains("52.22000, 6.89000"))
        let form = try await PublishedApp.next(definition, try #require(detail.nodes.first { $0.name == "sign_up" }))
        let button = try #require(form.nodes.first { $0.text("title") == "Sign up" && $0.kind == "ButtonView" })
        let values = try #require(button.form)
        values["age"] = "17"
        guard case .invalid(let problems)? = try await definition.perform(button.actions).first else {
            Issue.record("The form was accepted.")
            return
        }
        #expect(Set(problems.keys) == ["name", "email", "age", "terms"])
        #expect(problems["age"] == "You must be 18 or older.")
        try DefinitionPages.save(renderer.page(form), "kick-in-sign-up")
        for (field, value) in ["name": "Ann", "email": "ann@example.org", "age": "20", "study": "am"] {
            values[field] = .string(value)
        }
        values["terms"] = true
        let outcomes = try await definition.perform(button.actions)
        guard outcomes.count == 2, case .alert("Kick-In", "You are signed up.") = outcomes[1] else {
            Issue.record("\(outcomes)")
            return
        }
        let stored = try await app.server.manage("GET", "storage/" + signUps)["data"]?[0]
        #expect(stored?["name"] == "Ann" && stored?["age"] == 20 && stored?["arrival"] == "2026-08-24")
        #expect(stored?["study"] == "am" && stored?["terms"] == true)
    }
}
