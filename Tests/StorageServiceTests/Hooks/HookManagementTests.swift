import MartletAPI
import MartletCore
import MartletHTTP
import MartletTesting
import NIOCore
import Testing

@testable import StorageService

@Suite struct HookManagementTests {
    @Test("a hook is created, shown without its secret, changed, and deleted")
    func life() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver()
        let body = #"{"event":"beforeSave","collection":"Notes","url":"\#(receiver.url)","timeoutMilliseconds":700}"#
        let made = try await app.master.put("/hooks/check", body)
        #expect(made.status == 201)
        #expect(made["hook.timeoutMilliseconds"] == "700")
        #expect(made["hook.enabled"] == "true")
        let secret = try #require(made["secret"])
        #expect(secret.hasPrefix("\"whsec_") && secret.count == 52)
        let changed = try await app.master.put(
            "/hooks/check", #"{"event":"beforeDelete","collection":"Notes","url":"\#(receiver.url)","enabled":false}"#)
        #expect(changed.status == 200)
        #expect(changed["timeoutMilliseconds"] == "5000", "omitted settings return to their defaults")
        let one = try await app.master.get("/hooks/check")
        let all = try await app.master.get("/hooks")
        #expect(one["event"] == "\"beforeDelete\"")
        #expect(all["count"] == "1")
        #expect(all["data.0.name"] == "\"check\"")
        for answer in [changed, one, all] { #expect(!answer.text.contains("whsec_") && !answer.text.contains("salt")) }
        #expect(try await app.master.delete("/hooks/check").status == 204)
        #expect(try await app.master.delete("/hooks/check").isProblem(.hookNotFound))
        #expect(try await app.master.get("/hooks/check").isProblem(.hookNotFound))
    }

    @Test("only the master key manages hooks")
    func clients() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver()
        try await app.hook("f", "function", at: receiver)
        for client in [app.client, app.user("ada")] {
            #expect(try await client.get("/hooks").isProblem(.forbidden))
            #expect(try await client.get("/hooks/f").isProblem(.forbidden))
            #expect(try await client.get("/hooks/f/deliveries").isProblem(.forbidden))
            try await app.expectRefusal(.forbidden) {
                try await client.put("/hooks/f", #"{"event":"function","url":"\#(receiver.url)"}"#)
            }
            try await app.expectRefusal(.forbidden) { try await client.post("/hooks/f/secret") }
            try await app.expectRefusal(.forbidden) { try await client.delete("/hooks/f") }
            try await app.expectRefusal(.forbidden) { try await client.post("/hooks/f/deliveries/x/retry") }
        }
    }

    @Test(
        "invalid hooks are refused by field",
        arguments: [
            ("a b", #"{"event":"function","url":"https://example.com"}"#, ErrorCode.invalidName, "name"),
            ("a", #"{"event":"other","url":"https://example.com"}"#, .invalidBody, "event"),
            ("a", #"{"event":"function"}"#, .invalidBody, "url"),
            ("a", #"{"event":"beforeSave","url":"https://example.com"}"#, .invalidBody, "collection"),
            ("a", #"{"event":"beforeSave","collection":"_x","url":"https://example.com"}"#, .invalidName, "collection"),
            (
                "a", #"{"event":"function","collection":"Notes","url":"https://example.com"}"#, .invalidBody,
                "collection"
            ),
            (
                "a", #"{"event":"beforeSave","collection":"Notes","url":"https://example.com","callers":["*"]}"#,
                .invalidBody, "callers"
            ),
            ("a", #"{"event":"function","url":"https://example.com","callers":["field:x"]}"#, .invalidBody, "callers"),
            (
                "a", #"{"event":"function","url":"https://example.com","timeoutMilliseconds":10001}"#, .invalidBody,
                "timeoutMilliseconds"
            ),
            ("a", #"{"event":"function","url":"https://example.com","name":"b"}"#, .invalidBody, "name"),
            ("a", #"{"event":"function","url":"ftp://example.com"}"#, .invalidBody, "url"),
            ("a", #"{"event":"function","url":"https://user:x@example.com"}"#, .invalidBody, "url"),
            ("a", #"{"event":"function","url":"https://example.com/#x"}"#, .invalidBody, "url"),
            ("a", #"{"event":"function","url":"/relative"}"#, .invalidBody, "url"),
        ] as [(String, String, ErrorCode, String?)])
    func refusals(name: String, body: String, code: ErrorCode, field: String?) async throws {
        let app = try await StorageApp()
        _ = try await app.master.get("/hooks")
        let path = name.replacing(" ", with: "%20")
        try await app.expectRefusal(code, field: field) { try await app.master.put("/hooks/\(path)", body) }
    }

    @Test("an app has at most 50 hooks")
    func limit() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver()
        for number in 0..<50 { try await app.hook("h\(number)", "function", at: receiver) }
        try await app.expectRefusal(.limitExceeded, field: "name") {
            try await app.master.put("/hooks/more", #"{"event":"function","url":"\#(receiver.url)"}"#)
        }
        #expect(try await app.master.put("/hooks/h7", #"{"event":"function","url":"\#(receiver.url)"}"#).status == 200)
    }

    // MARK: Addresses

    /// The service with the strictest settings.
    private func strict(_ app: StorageApp, _ change: (inout HookSettings) -> Void = { _ in }) async throws
        -> ServiceClient
    {
        var settings = Self.strictSettings
        change(&settings)
        let service = StorageService(
            postgres: app.postgres, files: SharedFiles.settings, logger: .silent, hooks: settings)
        return try await ServiceClient(service).acting(as: app.principal(.master))
    }

    private static let strictSettings: HookSettings = {
        var settings = SharedHooks.settings
        settings.arePrivateAddressesAllowed = false
        return settings
    }()

    @Test(
        "addresses outside the public internet are refused, however they are written",
        arguments: [
            "https://127.0.0.1/", "https://localhost/", "https://[::1]:8443/x", "https://10.1.2.3/",
            "https://172.16.0.1/", "https://192.168.1.1/",
            "https://169.254.169.254/latest/meta-data", "https://100.64.0.1/", "https://0.0.0.0/",
            "https://2130706433/", "https://0x7f.1/",
            "https://0177.0.0.1/", "https://[::ffff:127.0.0.1]/", "https://[fe80::1]/", "https://[fd00::1]/",
            "https://[::]/",
            "https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/", "https://224.0.0.1/", "https://255.255.255.255/",
            "http://93.184.215.14/",
        ])
    func privateAddresses(url: String) async throws {
        let app = try await StorageApp()
        let master = try await strict(app)
        _ = try await master.get("/hooks")
        try await app.expectRefusal(.invalidBody, field: "url") {
            try await master.put("/hooks/a", #"{"event":"function","url":"\#(url)"}"#)
        }
    }

    @Test("a public address is accepted")
    func publicAddress() async throws {
        let app = try await StorageApp()
        let master = try await strict(app)
        #expect(
            try await master.put("/hooks/a", #"{"event":"function","url":"https://93.184.215.14/x?y=1"}"#).status == 201
        )
    }

    @Test("a private address is also refused at the call, by its name and by the connection if the name is misleading")
    func calls() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver()
        let url = receiver.url.replacing("http://127.0.0.1", with: "https://localhost")
        #expect(try await app.master.put("/hooks/a", #"{"event":"function","url":"\#(url)"}"#).status == 201)
        #expect(try await strict(app).post("/functions/a").isProblem(.hookFailed))
        // Plain HTTP, so that only the address can be the reason.
        let settings = { (settings: inout HookSettings) in
            settings.isPlainHTTPAllowed = true
            settings.lookUp = { _ in [[93, 184, 215, 14]] }
        }
        #expect(try await app.master.put("/hooks/a", #"{"event":"function","url":"\#(receiver.url)"}"#).status == 200)
        #expect(try await strict(app, settings).post("/functions/a").isProblem(.hookFailed))
        var misleading = Self.strictSettings
        settings(&misleading)
        let service = StorageService(
            postgres: app.postgres, files: SharedFiles.settings, logger: .silent, hooks: misleading)
        let hook = try await service.hooks.find(try HookName("a"), of: try app.space())
        let outcome = try await service.hookClient.send(ByteBuffer(), id: "x", to: hook, in: try app.space())
        #expect(outcome == WebhookOutcome(.privateAddress))
        #expect(receiver.received.isEmpty)
        #expect(
            try await app.master.post("/functions/a").status == 200,
            "the same call works where private addresses are allowed")
    }

    @Test(
        arguments: [
            ([8, 8, 8, 8], true), ([100, 63, 0, 1], true), ([172, 32, 0, 1], true), ([192, 0, 1, 1], true),
            ([223, 255, 255, 255], true),
            ([127, 255, 0, 1], false), ([100, 127, 0, 1], false), ([172, 31, 0, 1], false), ([198, 19, 0, 1], false),
            ([240, 0, 0, 1], false),
            ([0x26, 0x06, 0x47, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], true),
            ([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], false),
            ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 8, 8, 8, 8], true),
            ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1], false),
            ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], false),
            ([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], false), ([], false),
        ] as [([UInt8], Bool)]) func `only addresses of the public internet are allowed`(
            _ address: [UInt8], _ isPublic: Bool
        )
    {
        #expect(PublicAddress.contains(address) == isPublic)
    }
}
