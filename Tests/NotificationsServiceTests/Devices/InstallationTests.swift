import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletPush
import MartletTesting
import Testing

@testable import NotificationsService

@Suite struct InstallationTests {
    private static let user = "0193a000-0000-7000-8000-0000000000aa"
    private static let full = """
        ,"appVersion":"1.4.0","osVersion":"18.1","deviceModel":"iPhone17,1","locale":"de_DE@calendar=gregorian","timeZone":"Europe/Berlin",
        "channels":["sport","news","news"],"attributes":{"plan":"free","age":1.10}
        """

    @Test func `an app registers its device, updates it, and removes it`() async throws {
        try await NotificationsApp.run { app in
            let (device, token) = (TestDevice(), TestDevice.token())
            let made = try await app.ask(
                "PUT", device, TestDevice.ios(token.uppercased(), sandbox: true, more: Self.full), user: Self.user)
            #expect(
                made.status == 201 && made["id"] == "\"\(device.id)\"" && made["platform"] == "\"ios\""
                    && made["user"] == "\"\(Self.user)\"", "\(made)")
            #expect(
                made["push.service"] == "\"apns\"" && made["push.sandbox"] == "true"
                    && made["push.token"] == "\"\(token.prefix(8))…\"" && !made.text.contains(token))
            #expect(
                made["locale"] == "\"de-DE\"" && made["timeZone"] == "\"Europe/Berlin\""
                    && made["channels"] == #"["news","sport"]"# && made["badge"] == "0")
            #expect(made["attributes.age"] == "1.10" && made["attributes.plan"] == "\"free\"")
            #expect(try await app.ask("GET", device).text == made.text)
            let stored = try #require(
                try await app.service.devices.installations.device(
                    UUID(uuidString: device.id)!, in: try await app.space.id))
            #expect(
                stored.token == token && stored.isSandbox && stored.environment == .sandbox
                    && stored.userID == Self.user && stored.locale == "de-DE")

            // The app sends its state each time it is opened; without a user's token no one is signed in. Channels and
            // attributes stay.
            let again = try await app.ask(
                "PUT", device, TestDevice.ios(token, sandbox: true, more: #","appVersion":"1.5.0""#))
            #expect(
                again.status == 200 && again["user"] == "null" && again["appVersion"] == "\"1.5.0\""
                    && again["osVersion"] == "null" && again["channels"] == #"["news","sport"]"#)
            #expect(again["attributes.plan"] == "\"free\"" && again["created"] == made["created"])

            let patched = try await app.ask(
                "PATCH", device,
                #"{"badge":3,"attributes":{"plan":null,"team":"red"},"timeZone":null,"osVersion":"18.2"}"#,
                user: Self.user)
            #expect(
                patched.status == 200 && patched["badge"] == "3"
                    && patched["attributes"] == #"{"age":1.10,"team":"red"}"# && patched["timeZone"] == "null",
                "\(patched)")
            #expect(
                patched["osVersion"] == "\"18.2\"" && patched["appVersion"] == "\"1.5.0\"" && patched["user"] == "null"
                    && patched["push.registered"] == again["push.registered"])
            #expect(try await app.ask("PATCH", device, #"{"badge":0}"#)["badge"] == "0")

            // The app wants no messages.
            let muted = try await app.ask("PATCH", device, #"{"push":null}"#)
            #expect(muted["push"] == "null" && muted.status == 200)
            #expect(
                try await app.service.devices.installations.device(
                    UUID(uuidString: device.id)!, in: try await app.space.id) == nil)

            #expect(try await app.ask("DELETE", device).status == 204)
            for method in ["GET", "DELETE"] {
                #expect(try await app.ask(method, device).isProblem(.installationNotFound))
            }
            #expect(try await app.ask("PATCH", device, "{}").isProblem(.installationNotFound))
            #expect(try await app.countInstallations() == 0)
        }
    }

    @Test func `channels can be joined and left any number of times`() async throws {
        try await NotificationsApp.run { app in
            let device = TestDevice()
            try await app.ask("PUT", device, TestDevice.ios())
            for channel in ["news", "news", "team:red_1.a-b"] {
                #expect(try await app.ask("PUT", device, at: "/channels/\(channel)").status == 204)
            }
            #expect(try await app.ask("GET", device)["channels"] == #"["news","team:red_1.a-b"]"#)
            for _ in 1...2 { #expect(try await app.ask("DELETE", device, at: "/channels/news").status == 204) }
            #expect(try await app.ask("GET", device)["channels"] == #"["team:red_1.a-b"]"#)
            for channel in ["a%20b", String(repeating: "x", count: 65), "%C3%A4"] {
                #expect(
                    try await app.ask("PUT", device, at: "/channels/\(channel)").isProblem(.invalidName), "\(channel)")
            }
            let names = (1...99).map { "\"c\($0)\"" }.joined(separator: ",")
            #expect(try await app.ask("PATCH", device, #"{"channels":[\#(names),"d"]}"#).status == 200)
            #expect(try await app.ask("PUT", device, at: "/channels/one-more").isProblem(.limitExceeded))
            #expect(try await app.ask("PUT", device, at: "/channels/d").status == 204)
        }
    }

    @Test func `an installation can be read and changed only with its secret`() async throws {
        try await NotificationsApp.run { app in
            let device = TestDevice()
            let made = try await app.ask("PUT", device, TestDevice.ios(), user: Self.user)
            var stranger = TestDevice()
            stranger.id = device.id
            for (method, path, body) in [
                ("GET", "", nil), ("PUT", "", TestDevice.ios()), ("PATCH", "", "{}"), ("DELETE", "", nil),
                ("PUT", "/channels/a", nil), ("DELETE", "/channels/a", nil),
            ] as [(String, String, String?)] {
                #expect(
                    try await app.ask(method, stranger, body, at: path, user: Self.user).isProblem(.forbidden),
                    "\(method) \(path)")
                #expect(
                    try await app.client(method, device.path + path, body, user: Self.user).isProblem(.forbidden),
                    "\(method) \(path)")
                let short = ["Installation-Secret": String(device.secret.dropLast())]
                #expect(
                    try await app.client(method, device.path + path, body, headers: short).isProblem(.forbidden),
                    "\(method) \(path)")
                #expect(
                    try await app.gateway.acting(as: app.principal(.staff)).send(
                        method, device.path + path, body, headers: device.headers
                    ).isProblem(.forbidden))
            }
            #expect(try await app.ask("GET", device).text == made.text)
            let digest = try await app.postgres.query("SELECT secret_digest FROM notifications.installations")[0]
                .decode(0, as: Data.self)
            #expect(digest == Data(Credential.digest(of: device.secret)))

            // In the test environment, and in another app, it is a different installation.
            var test = app
            test.environment = .test
            #expect(try await test.ask("GET", device).isProblem(.installationNotFound))
        }
    }

    @Test func `only one of two concurrent registrations of an id wins`() async throws {
        try await NotificationsApp.run { app in
            var devices = [TestDevice(), TestDevice(), TestDevice(), TestDevice()]
            for index in devices.indices { devices[index].id = devices[0].id }
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for device in devices { group.addTask { try await app.ask("PUT", device, TestDevice.ios()).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.sorted() == [201, 403, 403, 403])
            #expect(try await app.countInstallations() == 1)
        }
    }

    @Test func `a reinstalled app takes over its device`() async throws {
        try await NotificationsApp.run { app in
            let (old, new, token) = (TestDevice(), TestDevice(), TestDevice.token())
            try await app.ask("PUT", old, TestDevice.ios(token), user: Self.user)
            try await app.ask("PUT", new, TestDevice.ios(token, sandbox: true))
            #expect(try await app.ask("GET", old).isProblem(.installationNotFound))
            #expect(try await app.ask("GET", new)["user"] == "null")
            // Two installations repeatedly swap their tokens at the same time: in the end each token has one
            // installation, and nothing hangs.
            let tokens = [token, TestDevice.token()]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for round in 0..<40 {
                    let device = round % 2 == 0 ? old : new
                    group.addTask { _ = try await app.ask("PUT", device, TestDevice.ios(tokens[round / 2 % 2])) }
                }
                try await group.waitForAll()
            }
            let rows = try await app.postgres.query("SELECT token FROM notifications.installations").map {
                try $0.decode(0, as: String.self)
            }
            #expect((1...2).contains(rows.count) && Set(rows).count == rows.count && Set(rows).isSubset(of: tokens))
            // The same token in the test environment belongs to a different installation.
            var test = app
            test.environment = .test
            #expect(try await test.ask("PUT", TestDevice(), TestDevice.ios(rows[0])).status == 201)
            #expect(try await app.countInstallations() == rows.count + 1)
        }
    }

    @Test func `the number of installations per user is limited, and the one unseen for longest is signed out`()
        async throws
    {
        try await NotificationsApp.run { app in
            let space = try await app.space.id
            try await app.postgres.execute(
                """
                INSERT INTO notifications.installations (space, id, secret_digest, platform, service, user_id, seen)
                SELECT \(space), gen_random_uuid(), '\\x00', 'ios', 'apns', \(Self.user), now() - n * interval '1 day' FROM generate_series(1, 50) AS n
                """)
            let device = TestDevice()
            try await app.ask("PUT", device, TestDevice.ios(), user: Self.user)
            let rows = try await app.postgres.query(
                "SELECT count(*), min(seen) > now() - interval '49 days 1 hour' FROM notifications.installations WHERE user_id = \(Self.user)"
            )
            let (count, isOldestGone) = (try rows[0].decode(0, as: Int.self), try rows[0].decode(1, as: Bool.self))
            #expect(count == InstallationStore.maximumPerUser && isOldestGone)
            #expect(try await app.ask("GET", device)["user"] == "\"\(Self.user)\"")
            #expect(try await app.countInstallations() == 51)
        }
    }

    static let refusals: [(body: String, code: ErrorCode, field: String?)] = {
        func push(_ json: String, on platform: String = "ios") -> String {
            #"{"platform":"\#(platform)","push":\#(json)}"#
        }
        let big = String(repeating: "x", count: 4_090)
        let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        func web(_ endpoint: String, _ p256dh: String = key, _ auth: String = "BTBZMqHH6r4Tts7J_aSIgg") -> String {
            push(
                #"{"service":"webpush","subscription":{"endpoint":"\#(endpoint)","keys":{"p256dh":"\#(p256dh)","auth":"\#(auth)"}}}"#,
                on: "web")
        }
        return [
            ("", .invalidJSON, nil), ("{", .invalidJSON, nil), ("[]", .invalidBody, nil),
            ("{}", .invalidBody, "platform"),
            (#"{"platform":"symbian"}"#, .invalidBody, "platform"),
            (#"{"platform":"ios","user":"u"}"#, .invalidBody, "user"),
            (#"{"platform":"ios","push":"x"}"#, .invalidBody, "push"), (push("{}"), .invalidBody, "push.service"),
            (push(#"{"service":"mpns","token":"00"}"#), .invalidBody, "push.service"),
            (push(#"{"service":"apns","sandbox":true}"#), .invalidBody, "push.token"),
            (push(#"{"service":"apns","token":"xyz","sandbox":true}"#), .invalidBody, "push.token"),
            (push(#"{"service":"apns","token":"00ff"}"#), .invalidBody, "push.sandbox"),
            (push(#"{"service":"apns","token":"00ff","sandbox":"yes"}"#), .invalidBody, "push.sandbox"),
            (
                push(#"{"service":"apns","token":"00ff","sandbox":true,"bundleId":"a b"}"#), .invalidBody,
                "push.bundleId"
            ),
            (push(#"{"service":"apns","token":"00ff","sandbox":true}"#, on: "android"), .invalidBody, "push.service"),
            (push(#"{"service":"fcm","token":"t","sandbox":true}"#, on: "android"), .invalidBody, "push.sandbox"),
            (push(#"{"service":"fcm","token":"a b"}"#, on: "android"), .invalidBody, "push.token"),
            (push(#"{"service":"webpush"}"#, on: "web"), .invalidBody, "push.subscription"),
            (web("http://push.example.com/x"), .invalidBody, "push.subscription.endpoint"),
            (web("https://push.example.com/x", "AAAA"), .invalidBody, "push.subscription.keys.p256dh"),
            (web("https://push.example.com/x", key, "AAAA"), .invalidBody, "push.subscription.keys.auth"),
            (#"{"platform":"ios","locale":"?"}"#, .invalidBody, "locale"),
            (#"{"platform":"ios","timeZone":"Mars/Olympus"}"#, .invalidBody, "timeZone"),
            (#"{"platform":"ios","timeZone":"../../etc/passwd"}"#, .invalidBody, "timeZone"),
            (#"{"platform":"ios","appVersion":"1\n"}"#, .invalidBody, "appVersion"),
            (#"{"platform":"ios","osVersion":""}"#, .invalidBody, "osVersion"),
            (#"{"platform":"ios","deviceModel":1}"#, .invalidBody, "deviceModel"),
            (#"{"platform":"ios","channels":["a b"]}"#, .invalidBody, "channels"),
            (#"{"platform":"ios","channels":"a"}"#, .invalidBody, "channels"),
            (
                #"{"platform":"ios","channels":[\#((1...101).map { "\"c\($0)\"" }.joined(separator: ","))]}"#,
                .invalidBody, "channels"
            ),
            (#"{"platform":"ios","attributes":[]}"#, .invalidBody, "attributes"),
            (#"{"platform":"ios","attributes":{"a":"\#(big)"}}"#, .invalidBody, "attributes"),
            (#"{"platform":"ios","attributes":{"a":1,"a":2}}"#, .invalidBody, nil),
            (#"{"platform":"ios","timeZone":"posixrules"}"#, .invalidBody, "timeZone"),
            (#"{"platform":"ios","timeZone":"GMT+5"}"#, .invalidBody, "timeZone"),
            (#"{"platform":"ios","timezone":"UTC"}"#, .invalidBody, "timezone"),
            (#"{"platform":"ios",}"#, .invalidJSON, nil), (#"{"platform":"ios","badge":-1}"#, .invalidBody, "badge"),
            (
                #"{"platform":"ios","attributes":{"a":"\#(String(repeating: "x", count: 40_000))"}}"#, .payloadTooLarge,
                nil
            ),
        ]
    }()

    @Test func `invalid requests are refused, and nothing is written`() async throws {
        try await NotificationsApp.run { app in
            for refusal in Self.refusals {
                let answer = try await app.ask("PUT", TestDevice(), refusal.body)
                #expect(answer.isProblem(refusal.code, field: refusal.field), "\(refusal.body.prefix(200)): \(answer)")
            }
            #expect(try await app.countInstallations() == 0)
        }
    }

    @Test func `attributes cannot grow beyond their limit piece by piece`() async throws {
        try await NotificationsApp.run { app in
            let device = TestDevice()
            try await app.ask("PUT", device, TestDevice.ios())
            let piece = String(repeating: "x", count: 2_100)
            #expect(try await app.ask("PATCH", device, #"{"attributes":{"a":"\#(piece)"}}"#).status == 200)
            #expect(
                try await app.ask("PATCH", device, #"{"attributes":{"b":"\#(piece)"}}"#).isProblem(
                    .limitExceeded, field: "attributes"))
            #expect(try await app.ask("GET", device)["attributes.b"] == nil)
            for id in ["1", "x", "00000000-0000-0000-0000-00000000000g"] {
                #expect(
                    try await app.client("GET", "/installations/\(id)", headers: device.headers).isProblem(.invalidID))
            }
        }
    }
}
