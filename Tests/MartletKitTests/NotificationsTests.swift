import Foundation
import Testing

@testable import MartletKit

@Suite("Notifications")
struct NotificationsTests {
    private static func opened(_ transport: ScriptedTransport) throws -> [String] {
        try transport.sent.filter { $0.url.path.hasSuffix("/opened") }.compactMap {
            try JSON(parsing: $0.body ?? Data())["message"]?.stringValue
        }
    }

    private static func push(_ message: String, _ aps: JSON = ["alert": ["title": "Hello"]]) -> JSON {
        ["aps": aps, "martlet": ["message": .string(message)], "bike": "b1"]
    }

    @Test func `an installation is registered with its token, and again with the same id and secret`() async throws {
        let transport = ScriptedTransport { _, _ in HTTPResponse(200, [:]) }
        let folder = Scratch.folder()
        let first = try Martlet.scripted(transport, folder: folder, change: { $0.device.platform = "ios" })
        try await first.notifications.register(token: Data([0x74, 0x0f]), environment: .sandbox)
        try await Martlet.scripted(transport, folder: folder).notifications.register()
        // On a busy machine the client sends other requests meanwhile, and may register once more.
        let sent = transport.sent.filter { $0.method == "PUT" }
        try #require(sent.count >= 2 && Set(sent.map(\.url)).count == 1)
        let secret = try #require(sent[0].headers["installation-secret"])
        #expect(secret.utf8.count == 43 && secret == sent[1].headers["installation-secret"])
        for request in sent {
            let body = try JSON(parsing: request.body ?? Data())
            #expect(body["push"] == ["service": "apns", "token": "740f", "sandbox": true])
        }
        #expect(!"\(first.parts.identity)".contains(secret))
    }

    @Test func `after a sign-in the installation is registered for the user, if it was registered at all`() async throws
    {
        let transport = ScriptedTransport { _, _ in HTTPResponse(200, ["flags": [:]]) }
        let martlet = try Martlet.scripted(transport)
        let user = try JSON(parsing: Data(#"{"id":"u1"}"#.utf8)).decoded(as: User.self, tolerance: .all)
        func session(_ token: String) -> Session {
            Session(
                user: user, accessToken: token, accessTokenExpires: Date().addingTimeInterval(900), refreshToken: "r")
        }
        // Consecutive ones of one user count once: on a busy machine the client notices the session's first state only
        // after the registration, and registers once more.
        func registrations() -> [String?] {
            transport.sent.filter { $0.method == "PUT" }.map { $0.headers["authorization"] }
                .reduce(into: [String?]()) { users, user in if users.last != .some(user) { users.append(user) } }
        }
        try await martlet.notifications.register()
        try await martlet.session.begin(session("t1"))
        try await eventually("the user is registered") { registrations() == [nil, "Bearer t1"] }
        try await martlet.session.end(.signedOut)
        try await eventually("the user is signed out") { registrations() == [nil, "Bearer t1", nil] }
    }

    @Test(arguments: [
        (NotificationState.foreground, NotificationOutcome.shown, 0), (.background, .shown, 0), (.tapped, .opened, 1),
    ])
    func `only a tap opens a message, in each state of the app`(
        state: NotificationState, outcome: NotificationOutcome, reports: Int
    ) async throws {
        let transport = ScriptedTransport { _, _ in HTTPResponse(status: 204) }
        let martlet = try Martlet.scripted(transport)
        #expect(await martlet.notifications.handle(Self.push("m1"), in: state) == outcome)
        #expect(try Self.opened(transport).count == reports)
    }

    @Test func `a message is reported as opened once, also without a network and after a restart`() async throws {
        let isOnline = Locked(false)
        let transport = ScriptedTransport { _, _ in
            if !isOnline.withLock({ $0 }) { throw MartletError(.notConnected, "") }
            return HTTPResponse(status: 204)
        }
        let folder = Scratch.folder()
        func start() throws -> Notifications {
            try Martlet.scripted(transport, folder: folder, change: { $0.retries = .never }).notifications
        }
        try await start().handle(Self.push("m1"), in: .tapped)
        isOnline.withLock { $0 = true }
        let before = transport.sent.count
        let second = try start()
        await second.flush()
        await second.handle(Self.push("m1"), in: .tapped)
        await second.handle(Self.push("m2"), in: .tapped)
        try await start().handle(Self.push("m2"), in: .tapped)
        #expect(try Self.opened(transport).dropFirst(before) == ["m1", "m2"])
    }

    @Test func `a silent push runs the sync, and says whether there was anything new`() async throws {
        let transport = ScriptedTransport { _, _ in HTTPResponse(status: 204) }
        let notifications = try Martlet.scripted(transport).notifications
        let silent = Self.push("m1", ["content-available": 1])
        #expect(await notifications.handle(silent, in: .background) == .synced(hasNewData: false))
        let seen = Locked<[JSON?]>([])
        notifications.onSync { data in
            seen.withLock { $0.append(data["bike"]) }
            return true
        }
        #expect(await notifications.handle(silent, in: .background) == .synced(hasNewData: true))
        #expect(seen.withLock { $0 } == ["b1"])
        notifications.onSync { _ in throw MartletError(.notConnected, "") }
        #expect(await notifications.handle(silent, in: .foreground) == .synced(hasNewData: false))
        #expect(transport.sent.isEmpty)
    }

    @Test(arguments: ["{}", #"{"aps":{"alert":"x"}}"#, #"{"aps":5,"martlet":7}"#, #"{"martlet":{"message":9}}"#])
    func `notifications of other senders are ignored`(text: String) async throws {
        let transport = ScriptedTransport { _, _ in HTTPResponse(status: 204) }
        let notifications = try Martlet.scripted(transport).notifications
        #expect(await notifications.handle(try JSON(parsing: Data(text.utf8)), in: .tapped) == .notOurs)
        #expect(transport.sent.isEmpty)
    }

    @Test(.enabled(if: LiveServer.shared != nil))
    func `the server knows the installation with its channels and attributes`() async throws {
        let server = try #require(LiveServer.shared)
        var configuration = try server.configuration(appVersion: "1.4")
        configuration.device.platform = "ios"
        let notifications = Martlet(configuration).notifications
        let token = Data((0..<32).map { _ in UInt8.random(in: .min ... .max) })
        try await notifications.register(token: token, environment: .sandbox)
        try await notifications.join("kit2-news")
        try await notifications.setAttributes(["plan": "gold"])
        let path = "notifications/installations/\(notifications.installationID)"
        let stored = try await server.manage("GET", path)
        #expect(stored["appVersion"] == "1.4" && stored["channels"] == ["kit2-news"])
        #expect(stored["attributes"] == ["plan": "gold"] && stored["push"]?["sandbox"] == true)
        // The report of an unknown message is refused, and not repeated.
        let unknown = Self.push(UUID().uuidString.lowercased())
        #expect(await notifications.handle(unknown, in: .tapped) == .opened)
        try await notifications.leave("kit2-news")
        try await notifications.unregister()
        let after = try await server.manage("GET", path)
        #expect(after["channels"] == [] && after["push"]?.isNull != false)
    }
}
