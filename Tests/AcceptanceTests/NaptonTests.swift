import Foundation
import MartletKit
import Testing

@testable import ExampleApps

@Suite("Napton") struct NaptonTests {
    private static let story = Task {
        let pages = Scratch.folder()
        try FileManager.default.createDirectory(at: pages, withIntermediateDirectories: true)
        return try await NaptonStory.make(Acceptance.developer(), pages: pages, Acceptance.story)
    }

    @Test func `the example runs, each step has the expected result, and its screens are saved`() async throws {
        let pages = Scratch.folder()
        try await NaptonStory.run(Acceptance.developer(), pages: pages, Acceptance.story)
        let names = try FileManager.default.contentsOfDirectory(atPath: pages.path).sorted()
        #expect(
            names == [
                "contact.html", "contacts.html", "event-after.html", "event-before.html", "events.html", "sign-up.html",
            ])
        // The picture that the change brings is there for a browser, which sends no secret.
        let page = try String(contentsOf: pages.appendingPathComponent("event-after.html"), encoding: .utf8)
        let source = try #require(page.components(separatedBy: "<img src=\"").dropFirst().first)
        let address = try #require(source.components(separatedBy: "\"").first.flatMap { URL(string: $0) })
        let answer = try await URLSessionTransport().send(HTTPRequest(method: "GET", url: address), progress: nil)
        #expect(answer.status == 200 && answer.body == Data(PackageResources.ball_png))
    }

    @Test func `only the server's owner changes events or reads who has signed up`() async throws {
        let story = try await Self.story.value
        let (guest, user) = (story.phone(), story.phone())
        try await user.users.signInAnonymously()
        let signUp = SignUp(name: "Ann", email: "ann@example.org", age: 20, terms: true)
        await expectRefusal { try await guest.storage.create(signUp) }
        let stored = try await user.storage.create(signUp)
        await expectRefusal { try await user.storage.find(SignUp.query()) }
        await expectRefusal { try await user.storage.count(SignUp.query()) }
        await expectRefusal { try await user.storage.changes(in: SignUp.query(), since: nil) }
        let events = try await story.app.manage("GET", "storage/events")["data"]?.arrayValue ?? []
        let event = try #require(events.first?["_id"]?.stringValue)
        await expectRefusal { try await user.storage.update(EventTitle.self, id: event, .set(\.title, to: "Mine")) }
        await expectRefusal { try await user.storage.create(EventTitle(title: "Mine")) }
        // The server refuses values that the form does not allow.
        for (age, terms) in [(17, true), (20, false)] {
            await expectRefusal(.documentRefused) {
                try await user.storage.create(SignUp(name: "Ann", email: "a@example.org", age: age, terms: terms))
            }
        }
        let all = try await story.app.manage("GET", "storage/signups")["data"]?.arrayValue
        #expect(all?.compactMap { $0["_id"]?.stringValue } == [stored.id])
    }

    @Test func `an app's own keys cannot change its definition`() async throws {
        let app = try await Self.story.value.app
        let call = Call(app.url, headers: ["x-martlet-secret": app.key("secret")])
        let document = "api/\(app.appKey)/config/definition/\(Napton.kickIn)"
        for (method, path, body) in [("PATCH", document, #"{"name":"Mine"}"#), ("POST", document + "/publish", "")] {
            await #expect {
                try await call.json(method, path, bytes: Data(body.utf8), ["if-match": "*"])
            } throws: { [401, 403].contains(($0 as? MartletError)?.status) }
        }
    }

    private struct EventTitle: Storable {
        static let collection = "events"

        var title: String
    }
}
