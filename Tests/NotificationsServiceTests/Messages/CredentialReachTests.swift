import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import NotificationsService

/// Warnings about devices that cannot be reached because the app has no credential for their push service.
@Suite struct CredentialReachTests {
    private static let everybody = #"{"content":{"body":"b"},"audience":{"everyone":true}}"#

    /// One device for each push service, and a second Apple device; credentials of `kinds`.
    private static func run(with kinds: [String], _ body: @Sendable (NotificationsApp) async throws -> Void)
        async throws
    {
        try await NotificationsApp.run { app in
            try await app.install([
                TestInstallation(1, user: "u1"), TestInstallation(2, platform: "android", service: "fcm"),
                TestInstallation(3, platform: "web", service: "webpush"),
                TestInstallation(4, user: "u1"), TestInstallation(5, hasToken: false),
            ])
            try await app.postgres.execute("DELETE FROM notifications.credentials WHERE kind <> ALL (\(kinds))")
            try await body(app)
        }
    }

    @Test func `Without a credential the preview names the services not reached, and nothing is sent`() async throws {
        try await Self.run(with: []) { app in
            let preview = try await app.master("POST", "/notifications/preview", Self.everybody)
            #expect(
                preview["audience.count"] == "4" && preview["withoutCredential.0.service"] == "\"apns\""
                    && preview["withoutCredential.0.devices"] == "2", "\(preview)")
            #expect(
                preview["withoutCredential.1.service"] == "\"fcm\"" && preview["withoutCredential.2.devices"] == "1",
                "\(preview)")
            let answer = try await app.master("POST", "/notifications/messages", Self.everybody)
            #expect(answer.isProblem(.pushCredentialMissing, field: "audience"), "\(answer)")
            #expect(answer.text.contains("apns (2), fcm (1), webpush (1)"), "\(answer)")
            let thesis = try await app.master("POST", "/thesis/notification", #"{"userID":"u1","message":"hello"}"#)
            #expect(thesis.isProblem(.pushCredentialMissing), "\(thesis)")
            #expect(try await app.count("messages") == 0)
            #expect(try await app.count("jobs") == 0)
        }
    }

    @Test(arguments: [
        (#"{"users":["u1"]}"#, ["fcm", "webpush"]), (#"{"platforms":["android"]}"#, ["apns"]),
        (#"{"where":{"platform":"web"}}"#, ["apns", "fcm"]), (#"{"segment":"web"}"#, ["apns"]),
    ])
    func `A message only for devices without a credential is refused, and nothing is written`(
        _ audience: String, _ kinds: [String]
    ) async throws {
        try await Self.run(with: kinds) { app in
            _ = try await app.master("PUT", "/notifications/segments/web", #"{"audience":{"platforms":["web"]}}"#)
            let answer = try await app.master(
                "POST", "/notifications/messages", #"{"content":{"body":"b"},"audience":\#(audience)}"#)
            #expect(answer.isProblem(.pushCredentialMissing), "\(answer)")
            #expect(try await app.count("messages") == 0)
        }
    }

    @Test func `If some devices are reached the message is sent, and the answer names the others`() async throws {
        try await Self.run(with: ["fcm"]) { app in
            let answer = try await app.master("POST", "/notifications/messages", Self.everybody)
            #expect(
                answer.status == 201 && answer["withoutCredential.0.service"] == "\"apns\""
                    && answer["withoutCredential.0.devices"] == "2", "\(answer)")
            #expect(
                answer["withoutCredential.1.service"] == "\"webpush\""
                    && answer["withoutCredential.0.isExact"] == "true")
        }
    }

    @Test func `With all necessary credentials, or without recipients, there is no warning`() async throws {
        try await Self.run(with: ["apns"]) { app in
            for audience in [#"{"users":["u1"]}"#, #"{"users":["nobody"]}"#, #"{"platforms":["ios"]}"#] {
                let answer = try await app.master(
                    "POST", "/notifications/messages", #"{"content":{"body":"b"},"audience":\#(audience)}"#)
                #expect(answer.status == 201 && answer["withoutCredential"] == nil, "\(answer)")
            }
            #expect(
                try await app.master(
                    "POST", "/notifications/preview", #"{"content":{"body":"b"},"audience":{"users":["u1"]}}"#)[
                        "withoutCredential"] == nil)
        }
    }
}
