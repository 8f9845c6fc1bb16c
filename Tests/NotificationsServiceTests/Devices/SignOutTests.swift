import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Testing

@testable import NotificationsService

@Suite struct SignOutTests {
    private static let anna = "0193a000-0000-7000-8000-0000000000aa"
    private static let berta = "0193a000-0000-7000-8000-0000000000bb"

    /// A device on which a user is signed in by a session; nil for an unknown session.
    private static func device(_ app: NotificationsApp, of user: String = anna, in session: UUID?, id: UUID = UUID())
        async throws -> TestDevice
    {
        var device = TestDevice()
        device.id = id.uuidString.lowercased()
        var principal = app.principal(.client, user: user)
        principal.sessionID = session?.uuidString.lowercased()
        let answer = try await app.gateway.acting(as: principal).send(
            "PUT", device.path, TestDevice.ios(), headers: device.headers)
        try #require(answer.status == 201 && answer["user"] == "\"\(user)\"", "\(answer)")
        return device
    }

    private static func body(_ sessions: [UUID], of user: String = anna, more: String = "") -> String {
        let ids = sessions.map { "\"\($0.uuidString.lowercased())\"" }.joined(separator: ",")
        return #"{"app":"app1","environment":"live","user":"\#(user)","sessions":[\#(ids)]\#(more)}"#
    }

    private static func signOut(_ app: NotificationsApp, _ sessions: [UUID], of user: String = anna) async throws
        -> String?
    {
        let answer = try await app.gateway.acting(as: .service("auth")).post(
            "/internal/users/sign-out", body(sessions, of: user))
        try #require(answer.status == 200, "\(answer)")
        return answer["signedOut"]
    }

    private static func user(_ app: NotificationsApp, _ device: TestDevice) async throws -> String? {
        try await app.ask("GET", device)["user"]
    }

    @Test func `Ending a session signs the user out only on devices where it signed them in`() async throws {
        try await NotificationsApp.run { app in
            let (first, second, third) = (UUID(), UUID(), UUID())
            let phone = try await Self.device(app, in: first)
            let pad = try await Self.device(app, in: second)
            let others = try await Self.device(app, of: Self.berta, in: third)
            var test = app
            test.environment = .test
            let tested = try await Self.device(test, in: first)

            #expect(try await Self.signOut(app, [third]) == "0", "it is another user's session")
            #expect(try await Self.signOut(app, []) == "0")
            #expect(try await Self.signOut(app, [first]) == "1")
            #expect(try await Self.user(app, phone) == "null")
            for (app, device, user) in [(app, pad, Self.anna), (app, others, Self.berta), (test, tested, Self.anna)] {
                #expect(try await Self.user(app, device) == "\"\(user)\"")
            }
            #expect(try await Self.signOut(app, [first]) == "0", "harmless to repeat")

            // The device still exists, with its token; a user who signs in again does so with a new session.
            #expect(try await app.ask("GET", phone)["push.service"] == "\"apns\"")
            var principal = app.principal(.client, user: Self.anna)
            principal.sessionID = third.uuidString.lowercased()
            let again = try await app.gateway.acting(as: principal).send(
                "PUT", phone.path, TestDevice.ios(), headers: phone.headers)
            #expect(again.status == 200 && again["user"] == "\"\(Self.anna)\"")
            #expect(
                try await Self.signOut(app, [first, second]) == "1",
                "the pad; the session of the phone is another one now")
            #expect(try await Self.user(app, phone) == "\"\(Self.anna)\"")
            // Changes other than signing in or out leave the session as it is.
            #expect(try await app.ask("PATCH", phone, #"{"badge":1}"#)["user"] == "\"\(Self.anna)\"")
            #expect(try await Self.signOut(app, [third]) == "1")
        }
    }

    @Test func `If the session is not known, any ended session signs the user out`() async throws {
        try await NotificationsApp.run { app in
            let (old, phone) = (try await Self.device(app, in: nil), try await Self.device(app, in: UUID()))
            let others = try await Self.device(app, of: Self.berta, in: nil)
            #expect(try await Self.signOut(app, [UUID()]) == "1")
            for (device, user) in [(old, "null"), (phone, "\"\(Self.anna)\""), (others, "\"\(Self.berta)\"")] {
                #expect(try await Self.user(app, device) == user)
            }
        }
    }

    @Test func `Queued messages for the user are not sent to a device that was signed out`() async throws {
        try await NotificationsApp.run { app in
            let session = UUID()
            try await app.storeCredentials()
            _ = try await Self.device(app, in: session, id: TestInstallation.id(1))
            let message = try await app.order(
                #"{"content":{"title":"Hi"},"audience":{"users":["\#(Self.anna)"]},\#(NotificationsApp.quiet)}"#)
            #expect(try await app.deliveries(message).map(\.state) == ["queued"])
            try await app.postgres.execute("DELETE FROM notifications.credentials")
            #expect(try await Self.signOut(app, [session]) == "1")
            try await app.postgres.execute("UPDATE notifications.deliveries SET due = now()")
            try await eventually("the delivery failed") { try await app.deliveries(message)[0].state == "failed" }
            let reason: String? = try await app.postgres.query("SELECT reason FROM notifications.deliveries")[0].decode(
                0)
            #expect(reason == "signed-out")
            try await app.storeCredentials()
            #expect(
                try await app.order(#"{"content":{"title":"Hi"},"audience":{"users":["\#(Self.anna)"]}}"#) != message)
            #expect(try await app.count("deliveries") == 1, "no device is signed in to get the second message")
        }
    }

    @Test func `Only internal services sign users out, and an invalid request changes nothing`() async throws {
        try await NotificationsApp.run { app in
            let session = UUID()
            let device = try await Self.device(app, in: session)
            let good = Self.body([session])
            for principal in [
                app.principal(.client, user: Self.anna), app.principal(.master), app.principal(.staff), .visitor,
            ] {
                #expect(
                    try await app.gateway.acting(as: principal).post("/internal/users/sign-out", good).isProblem(
                        .forbidden))
            }
            #expect(
                try await app.gateway.acting(as: nil).post("/internal/users/sign-out", good).isProblem(.unauthorized))
            let auth = app.gateway.acting(as: .service("auth"))
            let tooMany = Self.body((0...1_000).map { _ in UUID() })
            for (body, field) in [
                (good.replacing("app1", with: ""), "app"), (good.replacing("live", with: "moon"), "environment"),
                (good.replacing(Self.anna, with: "anna"), "user"),
                (#"{"app":"app1","environment":"live","user":"\#(Self.anna)","sessions":["x"]}"#, "sessions"),
                (tooMany, "sessions"),
                (Self.body([session], more: #","all":true"#), "all"),
            ] {
                #expect(
                    try await auth.post("/internal/users/sign-out", body).isProblem(.invalidBody, field: field),
                    "\(field)")
            }
            #expect(try await Self.user(app, device) == "\"\(Self.anna)\"")
        }
    }
}
