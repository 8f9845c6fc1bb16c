import MartletAPI
import MartletHTTP
import MartletTesting
import Testing

@testable import StorageService

@Suite struct HookLedgerTests {
    @Test(
        arguments: [(500, "{}", "status", "500"), (200, "[]", "answer", "200"), (302, "{}", "status", "302")]
            as [(Int, String, String, String)])
    func `a failed call is listed with its hook`(
        _ status: Int, _ body: String, _ outcome: String, _ listed: String
    ) async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver { _ in (status, body) }
        try await app.hook("save", "beforeSave", "Notes", at: receiver)
        try await app.hook("sum", "function", at: receiver)
        try await app.expectRefusal(.hookFailed) { try await app.client.post("/storage/Notes", "{}") }
        let failures = try await app.master.get("/hooks/save/failures")
        #expect(
            failures["count"] == "1" && failures["data.0.outcome"] == "\"\(outcome)\""
                && failures["data.0.status"] == listed, "\(failures)")
        #expect(failures["data.0.unnoted"] == "0" && failures["data.0.error"] != nil && failures["data.0.at"] != nil)
        #expect(try await app.master.get("/hooks/sum/failures")["count"] == "0")
        #expect(try await app.master.post("/functions/sum", "{}").isProblem(.hookFailed))
        #expect(try await app.master.get("/hooks/sum/failures")["count"] == "1")
        #expect(try await app.master.delete("/hooks/save").status == 204)
        #expect(try await app.master.get("/hooks/save/failures").isProblem(.hookNotFound))
    }

    @Test func `a hook's refusal is not a failure`() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver { _ in (400, #"{"error":"no"}"#) }
        try await app.hook("save", "beforeSave", "Notes", at: receiver)
        try await app.expectRefusal(.hookRefused) { try await app.client.post("/storage/Notes", "{}") }
        #expect(try await app.master.get("/hooks/save/failures")["count"] == "0")
    }

    @Test func `many failures within a second are stored as one`() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver { _ in (503, "{}") }
        try await app.hook("save", "beforeSave", "Notes", at: receiver)
        let hook = try #require(
            try await HookStore(
                postgres: app.postgres, spaces: Spaces(postgres: app.postgres), rights: app.objects.rights
            ).enabled(in: app.space()).first)
        let ledger = HookLedger(postgres: app.postgres, spaces: Spaces(postgres: app.postgres), logger: .silent)
        let start = ContinuousClock.now
        for _ in 0..<20 {
            await ledger.record(
                .status, status: 503, "It answered with the status 503.", of: hook, in: try app.space(),
                took: .milliseconds(7))
        }
        let isQuick = ContinuousClock.now - start < HookLedger.pause
        let failures = try await app.master.get("/hooks/save/failures")
        #expect(failures["data.0.milliseconds"] == "7")
        if isQuick { #expect(failures["count"] == "1") }
    }

    @Test(arguments: [("limit=0", "limit"), ("limit=101", "limit"), ("state=dead", "state")])
    func `invalid parameters of a hook's failures and deliveries are refused`(_ query: String, _ field: String)
        async throws
    {
        let app = try await StorageApp()
        let receiver = try await HookReceiver { _ in (200, "{}") }
        try await app.hook("save", "beforeSave", "Notes", at: receiver)
        try await app.expectRefusal(.invalidParameter, field: field) {
            try await app.master.get("/hooks/save/failures?\(query)")
        }
        #expect(try await app.client.get("/hooks/save/failures").isProblem(.forbidden))
    }
}
