import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import StorageService

@Suite struct CallFunctionTests {
    @Test("a function gets the parameters and the caller, and its result is returned digit for digit")
    func result() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver { _ in (200, #"{"result":{"sum":1.10,"who":"ü"}}"#) }
        try await app.hook("sum", "function", at: receiver, #","callers":["authenticated"]"#)
        let answer = try await app.user("ada").post("/functions/sum", #"{"a":1.0}"#)
        #expect(answer.status == 200)
        #expect(answer.text == #"{"result":{"sum":1.10,"who":"ü"}}"#)
        #expect(
            receiver.received[0].body
                == #"{"event":"function","hook":"sum","params":{"a":1.0},"user":"ada","master":false}"#)
        #expect(receiver.received[0].headers["content-type"] == "application/json")
        _ = try await app.master.post("/functions/sum")
        #expect(
            receiver.received[1].body == #"{"event":"function","hook":"sum","params":null,"user":null,"master":true}"#)
    }

    @Test(
        "a function can be called by its callers and with the master key",
        arguments: [
            ("", [false, false, false]), (#"["*"]"#, [true, true, true]), (#"["authenticated"]"#, [false, true, true]),
            (#"["ada"]"#, [false, true, false]), (#"["role:editors"]"#, [false, false, true]),
            ("[]", [false, false, false]),
        ] as [(String, [Bool])])
    func callers(callers: String, open: [Bool]) async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver()
        _ = try await app.master.put("/roles/editors", #"{"add":["ben"]}"#)
        try await app.hook("f", "function", at: receiver, callers.isEmpty ? "" : #","callers":\#(callers)"#)
        for (client, isOpen) in zip([app.client, app.user("ada"), app.user("ben")], open) {
            let answer = try await client.post("/functions/f")
            #expect(isOpen ? answer.status == 200 : answer.isProblem(.forbidden))
        }
        #expect(receiver.received.count == open.filter(\.self).count)
        #expect(try await app.master.post("/functions/f").text == #"{"result":null}"#)
    }

    @Test(
        "the hook's answer decides",
        arguments: [
            (200, #"{"error":"no money"}"#, ErrorCode.hookRefused, "no money"),
            (200, #"{"error":{"message":"no"}}"#, .hookRefused, "no"),
            (422, #"{"error":"bad"}"#, .hookRefused, "bad"), (404, "<html>", .hookRefused, nil),
            (500, #"{"error":"secret"}"#, .hookFailed, nil),
            (200, "[]", .hookFailed, nil), (200, "nonsense", .hookFailed, nil),
            (302, "http://127.0.0.1:1/", .hookFailed, nil),
            (
                400, #"{"error":"\#(String(repeating: "x", count: 3_000))"}"#, .hookRefused,
                String(repeating: "x", count: 500)
            ),
        ] as [(Int, String, ErrorCode, String?)])
    func answers(status: Int, body: String, code: ErrorCode, detail: String?) async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver { _ in (status, body) }
        try await app.hook("f", "function", at: receiver)
        let answer = try await app.master.post("/functions/f")
        #expect(answer.isProblem(code))
        if let detail { #expect(answer["detail"] == "\"\(detail)\"") }
        #expect(!answer.text.contains("secret") && !answer.text.contains(receiver.url))
        #expect(receiver.received.count == 1, "neither redirects nor repetitions")
    }

    @Test("an answer that is late, missing or too large is a failure")
    func failures() async throws {
        let app = try await StorageApp()
        let late = try await HookReceiver { _ in
            try await Task.sleep(for: .seconds(600))
            return (200, "{}")
        }
        try await app.hook("late", "function", at: late, #","timeoutMilliseconds":200"#)
        #expect(try await app.master.post("/functions/late").isProblem(.hookFailed))
        #expect(
            try await app.master.put("/hooks/gone", #"{"event":"function","url":"http://127.0.0.1:1/"}"#).status == 201)
        #expect(try await app.master.post("/functions/gone").isProblem(.hookFailed))
        let large = try await HookReceiver { _ in (200, #"{"result":"\#(String(repeating: "x", count: 1 << 20))"}"#) }
        try await app.hook("large", "function", at: large)
        #expect(try await app.master.post("/functions/large").isProblem(.hookFailed))
    }

    @Test("unknown functions, invalid JSON and large bodies are refused, and the hook is not called")
    func refusals() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver()
        try await app.hook("f", "function", at: receiver, #","callers":["*"]"#)
        try await app.hook("b", "beforeSave", "Notes", at: receiver)
        try await app.hook("off", "function", at: receiver, #","callers":["*"],"enabled":false"#)
        for name in ["none", "b", "off"] {
            #expect(try await app.client.post("/functions/\(name)").isProblem(.hookNotFound))
        }
        #expect(try await app.client.post("/functions/a%20b").isProblem(.invalidName, field: "name"))
        #expect(try await app.client.post("/functions/f?x=1").isProblem(.invalidParameter, field: "x"))
        #expect(try await app.client.post("/functions/f", "{").isProblem(.invalidJSON))
        let large = "\"" + String(repeating: "x", count: 1 << 20) + "\""
        #expect(try await app.client.post("/functions/f", large).isProblem(.payloadTooLarge))
        #expect(try await app.testClient.post("/functions/f").isProblem(.hookNotFound), "environments are separate")
        #expect(receiver.received.isEmpty)
    }

    @Test("a function that another copy of the service has just added or opened can be called")
    func anotherCopy() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver()
        let copy = try await ServiceClient(app.anotherCopy())
        let client = copy.acting(as: app.principal(.client))
        #expect(try await client.post("/functions/f").isProblem(.hookNotFound))
        try await app.hook("f", "function", at: receiver)
        #expect(try await client.post("/functions/f").isProblem(.forbidden))
        #expect(try await copy.acting(as: app.principal(.master)).post("/functions/f").status == 200)
        let opened = #"{"event":"function","url":"\#(receiver.url)","timeoutMilliseconds":10000,"callers":["*"]}"#
        #expect(try await app.master.put("/hooks/f", opened).status == 200)
        #expect(try await client.post("/functions/f").status == 200)
    }

    @Test("calls beyond the limit of concurrent ones are refused, with a time to retry")
    func busy() async throws {
        let app = try await StorageApp()
        let silent = BlackHole()
        let receiver = try await HookReceiver { _ in
            await silent.call()
            return (200, "{}")
        }
        try await app.hook("f", "function", at: receiver)
        var settings = SharedHooks.settings
        settings.maximumCallsPerSpace = 2
        let service = StorageService(
            postgres: app.postgres, files: SharedFiles.settings, logger: .silent, hooks: settings)
        let master = try await ServiceClient(service).acting(as: app.principal(.master))
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<5 { group.addTask { try await master.post("/functions/f").status } }
            var statuses: [Int] = []
            for try await status in group {
                statuses.append(status)
                // The others hang until then.
                if statuses.count == 3 { silent.end() }
            }
            return statuses
        }
        #expect(statuses == [503, 503, 503, 200, 200])
        #expect(try await master.post("/functions/f").status == 200)
    }
}
