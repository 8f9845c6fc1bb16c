import Foundation
import MartletLocalFlags
import Testing

@testable import MartletKit

@Suite("Flags")
struct FlagsTests {
    private static let answer: JSON = [
        "version": 3,
        "flags": [
            "on": ["type": "boolean", "value": true, "variant": "on", "reason": "STATIC"],
            "count": ["type": "number", "value": 2.0, "variant": "default", "reason": "UNKNOWN"],
            "button": ["type": "json", "value": ["color": "red"], "variant": "red", "reason": "SPLIT"],
        ],
        "experiments": ["checkout": "dark"],
    ]

    private struct Button: Codable, Equatable { var color: String }

    @Test func `values have types, variants and reasons`() async throws {
        let transport = ScriptedTransport { _, _ in HTTPResponse(200, Self.answer) }
        let flags = try Martlet.scripted(transport).flags
        #expect(flags.evaluation("on", default: false).reason == .missing)
        #expect(try await flags.refresh())
        #expect(flags[Parameter("on", default: false)])
        #expect(flags.value("count", default: 0) == 2)
        let button = flags.evaluation("button", default: Button(color: "blue"))
        #expect(button.value == Button(color: "red") && button.variant == "red" && button.reason == .share)
        // A value of another type gives the default.
        #expect(flags.evaluation("count", default: "x").reason == .missing)
        #expect(flags.value("on", default: 7) == 7)
        #expect(flags.experiments == ["checkout": "dark"])
        let sent = try #require(transport.sent.first)
        let context = try JSON(parsing: sent.body ?? Data())["context"]
        #expect(context?["targetingKey"]?.stringValue == sent.headers["x-device-id"])
        #expect(context?["appVersion"] == "1.0")
    }

    @Test func `a variant survives restarts without a network, and the tag is sent for the same context only`()
        async throws
    {
        let isOnline = Locked(true)
        let transport = ScriptedTransport { request, _ in
            guard isOnline.withLock({ $0 }) else { throw MartletError(.notConnected, "") }
            return request.headers["if-none-match"] == "\"f\""
                ? HTTPResponse(status: 304) : HTTPResponse(200, Self.answer, ["ETag": "\"f\""])
        }
        let folder = Scratch.folder()
        try await Martlet.scripted(transport, folder: folder).flags.refresh()
        let second = try Martlet.scripted(transport, folder: folder).flags
        #expect(try await second.refresh() == false)
        #expect(transport.sent.last?.headers["if-none-match"] == "\"f\"")
        second.attributes = ["plan": "gold"]
        try await eventually("the client asks again with the other attributes") { transport.sent.count == 3 }
        #expect(transport.sent.last?.headers["if-none-match"] == nil)
        isOnline.withLock { $0 = false }
        let third = try Martlet.scripted(transport, folder: folder).flags
        #expect(third.evaluation("button", default: Button(color: "blue")).variant == "red")
    }

    @Test func `an answer for earlier attributes does not replace a later one`() async throws {
        let (gate, opening) = AsyncStream<Void>.makeStream()
        let transport = ScriptedTransport { request, _ in
            let plan = try JSON(parsing: request.body ?? Data())["context"]?["plan"]?.stringValue ?? "none"
            if plan == "none" { for await _ in gate { break } }
            let flag: JSON = ["type": "string", "value": .string(plan), "reason": "STATIC"]
            return HTTPResponse(200, ["flags": ["plan": flag]])
        }
        let flags = try Martlet.scripted(transport).flags
        async let first = flags.refresh()
        try await eventually("the client has sent a request") { transport.sent.count == 1 }
        flags.attributes = ["plan": "gold"]
        try await eventually("the new attributes are used") { flags.value("plan", default: "") == "gold" }
        opening.yield()
        #expect(try await first == false)
        #expect(flags.value("plan", default: "") == "gold")
    }

    @Test func `an exposure is recorded once for each user and variant, and only with consent`() async throws {
        let transport = ScriptedTransport { request, _ in
            request.url.path.hasSuffix("events") ? HTTPResponse(200, ["accepted": 1]) : HTTPResponse(200, Self.answer)
        }
        let folder = Scratch.folder()
        func start() throws -> Martlet {
            try Martlet.scripted(transport, folder: folder, change: { $0.analytics.interval = nil })
        }
        let martlet = try start()
        try await martlet.flags.refresh()
        _ = martlet.flags.value("button", default: Button(color: "blue"))
        martlet.analytics.consent = .granted
        for _ in 0..<3 { _ = martlet.flags.value("button", default: Button(color: "blue")) }
        _ = martlet.flags.value("on", default: false)
        _ = try start().flags.value("button", default: Button(color: "blue"))
        try await martlet.analytics.flush()
        let batches = try transport.sent.filter { $0.url.path.hasSuffix("events") }.map {
            try JSON(parsing: $0.body ?? Data())["batch"]?.arrayValue ?? []
        }
        #expect(batches.count == 1 && batches[0].count == 1)
        #expect(batches[0][0]["event"] == "Experiment Viewed")
        #expect(batches[0][0]["properties"] == ["flag": "button", "variant": "red"])
        #expect(batches[0][0]["context"]?["experiments"] == ["checkout": "dark"])
    }

    @Test func `another user gets flags of their own, and those of the first leave the device`() async throws {
        let transport = ScriptedTransport { request, _ in
            if request.url.path.hasSuffix("flags/evaluate") {
                let user = request.headers["authorization"] ?? "nobody"
                return HTTPResponse(
                    200, ["flags": ["who": ["type": "string", "value": .string(user), "reason": "STATIC"]]])
            }
            return HTTPResponse(200, [:])
        }
        let folder = Scratch.folder()
        let martlet = try Martlet.scripted(transport, folder: folder)
        try await martlet.flags.refresh()
        #expect(martlet.flags.value("who", default: "") == "nobody")
        let user = try JSON(parsing: Data(#"{"id":"u1"}"#.utf8)).decoded(as: User.self, tolerance: .all)
        try await martlet.session.begin(
            Session(
                user: user, accessToken: "t1", accessTokenExpires: Date().addingTimeInterval(900), refreshToken: "r"))
        try await eventually("the flags are those of the user") {
            martlet.flags.value("who", default: "") == "Bearer t1"
        }
        try await martlet.session.end(.signedOut)
        try await eventually("the flags are those of nobody") { martlet.flags.value("who", default: "") == "nobody" }
        #expect(LocalFolder(url: folder).subfolder("flags").names == ["device.json"])
    }

    @Test func `the device evaluates the flags that say so, for the present attributes and user, also offline`()
        async throws
    {
        let (isOnline, isOld) = (Locked(true), Locked(false))
        let transport = ScriptedTransport { request, _ in
            guard isOnline.withLock({ $0 }) else { throw MartletError(.notConnected, "") }
            if request.url.path.hasSuffix("flags/rules") {
                if isOld.withLock({ $0 }) { return .problem(404, "not-found") }
                return request.headers["if-none-match"] == "\"r\""
                    ? HTTPResponse(status: 304) : HTTPResponse(200, Self.rules, ["ETag": "\"r\""])
            }
            if request.url.path.hasSuffix("events") { return HTTPResponse(200, ["accepted": 1]) }
            let flag: JSON = ["type": "string", "value": "server", "variant": "server", "reason": "STATIC"]
            return HTTPResponse(200, ["flags": ["local": flag, "other": flag]])
        }
        let folder = Scratch.folder()
        func start() throws -> Martlet {
            let martlet = try Martlet.scripted(transport, folder: folder, change: { $0.analytics.interval = nil })
            martlet.evaluateFlagsLocally()
            return martlet
        }
        let first = try start()
        #expect(try await first.flags.refresh())
        #expect(try await first.flags.refresh() == false)
        #expect(first.flags.value("other", default: "") == "server")
        #expect(first.flags.evaluation("local", default: "").reason == .noRule)

        isOnline.withLock { $0 = false }
        let martlet = try start()
        martlet.analytics.consent = .granted
        martlet.flags.attributes = ["plan": "gold"]
        let gold = martlet.flags.evaluation("local", default: "")
        #expect(gold.value == "for gold" && gold.variant == "gold" && gold.reason == .rule)
        let user = try JSON(parsing: Data(#"{"id":"u1"}"#.utf8)).decoded(as: User.self, tolerance: .all)
        try await martlet.session.begin(
            Session(
                user: user, accessToken: "t1", accessTokenExpires: Date().addingTimeInterval(900), refreshToken: "r"))
        try await eventually("the flag is the user's") { martlet.flags.value("local", default: "") == "for u1" }
        #expect(martlet.flags.evaluation("local", default: "").reason == .share)

        isOnline.withLock { $0 = true }
        isOld.withLock { $0 = true }
        try await martlet.analytics.flush()
        let events = try transport.sent.filter { $0.url.path.hasSuffix("events") }.flatMap {
            try JSON(parsing: $0.body ?? Data())["batch"]?.arrayValue ?? []
        }
        let viewed = events.filter { $0["event"] == "Experiment Viewed" }.compactMap { $0["properties"] }
        #expect(viewed == [["flag": "local", "variant": "one"]])
        // A server that does not know the route evaluates all flags.
        try await martlet.flags.refresh()
        #expect(martlet.flags.value("local", default: "") == "server")
    }

    @Test func `the server's flags are refreshed even if the rules for devices cannot be read`() async throws {
        let transport = ScriptedTransport { request, _ in
            if request.url.path.hasSuffix("flags/rules") { return .problem(403, "forbidden") }
            let flag: JSON = ["type": "string", "value": "server", "variant": "server", "reason": "STATIC"]
            return HTTPResponse(200, ["flags": ["other": flag]])
        }
        let martlet = try Martlet.scripted(transport, folder: Scratch.folder())
        martlet.evaluateFlagsLocally()
        await #expect(throws: MartletError.self) { try await martlet.flags.refresh() }
        #expect(martlet.flags.value("other", default: "") == "server")
    }

    private static let rules: JSON = [
        "format": 1, "version": 3,
        "flags": [
            "local": [
                "value": "default", "variant": "default", "reason": "UNKNOWN",
                "rules": [
                    [
                        "condition": ["user.id": "u1"], "attribute": "userId", "seed": "s", "hashVersion": 2,
                        "ranges": [[0, 1]], "variations": [["value": "for u1", "variant": "one"]],
                    ],
                    ["condition": ["plan": "gold"], "variations": [["value": "for gold", "variant": "gold"]]],
                ],
            ]
        ],
    ]

    @Test(.enabled(if: LiveServer.shared != nil))
    func `flags and experiments come from the server, and follow publications`() async throws {
        let server = try #require(LiveServer.shared)
        let name = "kit2-\(UUID().uuidString.lowercased())"
        func publish(_ value: Bool) async throws {
            let flag: JSON = .object([name: ["type": "boolean", "default": .bool(value)]])
            let documents = try await server.manage("GET", "config/flags")["data"]?.arrayValue ?? []
            if documents.isEmpty {
                try await server.manage(
                    "PUT", "config/flags/default", ["flags": flag], headers: ["If-None-Match": "*"])
            } else {
                try await server.manage(
                    "PATCH", "config/flags/default", ["flags": flag], headers: ["If-Match": "*"])
            }
            try await server.manage("POST", "config/flags/default/publish", [:])
        }
        try await publish(false)
        let martlet = Martlet(try server.configuration())
        try await martlet.flags.refresh()
        #expect(martlet.flags.evaluation(name, default: true).reason == .fixed)
        #expect(martlet.flags.value(name, default: true) == false)
        #expect(try await martlet.flags.refresh() == false)
        let listening = Task { for await _ in martlet.flags.updates() {} }
        // The first event of the connection must not be mistaken for the publication.
        try await Task.sleep(nanoseconds: 300_000_000)
        try await publish(true)
        try await eventually("the flag has changed") { martlet.flags.value(name, default: false) }
        listening.cancel()
    }
}
