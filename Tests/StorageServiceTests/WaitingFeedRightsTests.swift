import MartletAPI
import MartletCore
import MartletTesting
import ServiceTesting
import Testing

@testable import StorageService

/// Rights that end while a request for changes waits do not apply to its answer.
@Suite struct WaitingFeedRightsTests {
    private static let mods = #"{"rules":{"find":["role:mods"]}}"#

    /// The answer to a waiting request of Ann's, after `change` and then a write while it waits.
    private func answerAfter(
        _ parameters: String = "", _ change: (_ master: ServiceClient) async throws -> Answer
    ) async throws -> Answer {
        let app = try await StorageApp()
        // A service of its own, so that no other request waits in it.
        let storage = StorageService(
            postgres: app.postgres, files: SharedFiles.settings, logger: .silent, hooks: SharedHooks.settings)
        let service = try await ServiceClient(storage)
        let master = service.acting(as: app.principal(.master))
        var principal = app.principal(.client)
        principal.userID = "ann"
        let ann = service.acting(as: principal)
        #expect(try await master.put("/roles/mods", #"{"add":["ann"]}"#).status == 204)
        _ = try await master.post("/storage/Notes", #"{"_id":"a","secret":"old","n":1}"#)
        #expect(try await master.put("/collections/Notes/rules", Self.mods).status == 200)
        let start = try FeedPage(try await ann.get("/changes/Notes")).cursor
        async let waiting = ann.get("/changes/Notes?since=\(start)&wait=30\(parameters)")
        // The request has read the log once, with the earlier rights.
        try await eventually("the request waits") { storage.feed.waiting.available < SyncFeed.maximumWaiting }
        let changed = try await change(master)
        #expect((200..<300).contains(changed.status), "\(changed)")
        #expect(try await master.patch("/storage/Notes/a", #"{"secret":"new","n":2}"#).status == 200)
        return try await waiting
    }

    @Test func `a waiting request is refused when the caller loses the role`() async throws {
        let answer = try await answerAfter { try await $0.put("/roles/mods", #"{"remove":["ann"]}"#) }
        #expect(answer.isProblem(.forbidden), "\(answer)")
    }

    @Test func `a waiting request is refused when the rules no longer let the caller read`() async throws {
        let answer = try await answerAfter { try await $0.put("/collections/Notes/rules", #"{"rules":{"find":[]}}"#) }
        #expect(answer.isProblem(.forbidden), "\(answer)")
    }

    private static let hidden = #"{"rules":{"find":["role:mods"]},"hidden":{"secret":["role:admins"]}}"#

    private func hide(_ master: ServiceClient) async throws -> Answer {
        _ = try await master.put("/roles/admins", "{}")
        return try await master.put("/collections/Notes/rules", Self.hidden)
    }

    @Test func `a waiting request omits a field that becomes hidden`() async throws {
        let answer = try await answerAfter("", hide)
        #expect(try FeedPage(answer).changed == ["a"])
        #expect(answer["changed.0.n"] == "2" && !answer.text.contains("secret"), "\(answer)")
    }

    @Test func `a waiting request is refused when the field of its filter becomes hidden`() async throws {
        let answer = try await answerAfter("&where=%7B%22secret%22:%22new%22%7D", hide)
        #expect(answer.isProblem(.forbidden, field: "secret"), "\(answer)")
    }
}
