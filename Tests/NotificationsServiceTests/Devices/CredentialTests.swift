import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletPush
import MartletPushSimulator
import MartletTesting
import Testing

@testable import NotificationsService

@Suite struct CredentialTests {
    private static let rights = StaffRights(["app1": [.notifications: [.read]]])

    @Test func `an Apple key is checked, sealed and never shown again`() async throws {
        try await NotificationsApp.run { app in
            let (key, sandbox) = (SimulatedKey(), SimulatedKey())
            let more = #","sandbox":{"key":\#(JSONValue.quote(sandbox.pem)),"keyId":"\#(sandbox.keyID)"}"#
            let put = try await app.master(
                "PUT", "/notifications/credentials/apns", NotificationsApp.json(key, more: more))
            #expect(
                put.status == 200 && put["kind"] == "\"apns\"" && put["keyId"] == "\"\(key.keyID)\""
                    && put["teamId"] == "\"\(key.teamID)\"", "\(put)")
            #expect(
                put["bundleIds"] == #"["com.example.app"]"# && put["sandbox.keyId"] == "\"\(sandbox.keyID)\""
                    && put["broken"] == "null" && put["author"] == "\"key:c1\"")
            let read = try await app.master("GET", "/notifications/credentials/apns")
            let list = try await app.staff("GET", "/notifications/credentials", rights: Self.rights)
            #expect(read.text == put.text && list["data.0.keyId"] == put["keyId"] && list["count"] == "1")
            let secrets = [key, sandbox].map { $0.pem.split(separator: "\n")[1] }
            for answer in [put, read, list] { #expect(!secrets.contains { answer.text.contains($0) }) }
            let row = try await app.postgres.query("SELECT shown::text, sealed FROM notifications.credentials")[0]
            let sealed = String(decoding: try row.decode(1, as: Data.self), as: UTF8.self)
            for secret in secrets {
                #expect(try !row.decode(0, as: String.self).contains(secret) && !sealed.contains(secret))
            }

            let current = try await app.service.devices.credentials.current(try await app.space.id)
            #expect(
                current.apns?.key(for: .production).keyID == key.keyID
                    && current.apns?.key(for: .sandbox).keyID == sandbox.keyID)

            // The test environment has credentials of its own.
            var test = app
            test.environment = .test
            #expect(try await test.master("GET", "/notifications/credentials/apns").isProblem(.credentialNotFound))
            #expect(try await app.master("DELETE", "/notifications/credentials/apns").status == 204)
            #expect(try await app.master("DELETE", "/notifications/credentials/apns").isProblem(.credentialNotFound))
            #expect(
                try await app.service.devices.credentials.store.current(try await app.space.id, known: current).apns
                    == nil)
        }
    }

    @Test func `a service account and a VAPID key are sealed, and browsers get the public key`() async throws {
        let fcm = try await FCMSimulator.start()
        defer { fcm.stop() }
        try await NotificationsApp.run { app in
            let account = try fcm.serviceAccount().withValue { $0 }
            for body in [#"{"serviceAccount":\#(account)}"#, #"{"serviceAccount":\#(JSONValue.quote(account))}"#] {
                let put = try await app.master("PUT", "/notifications/credentials/fcm", body)
                #expect(
                    put.status == 200 && put["clientEmail"] == "\"push@martlet-test.iam.gserviceaccount.com\""
                        && !put.text.contains("PRIVATE KEY"), "\(put)")
            }
            #expect(try await app.client("GET", "/push/key").isProblem(.credentialNotFound))
            let made = try await app.master(
                "PUT", "/notifications/credentials/webpush", #"{"subject":"mailto:push@example.com"}"#)
            let shown = try await app.client("GET", "/push/key")
            #expect(
                made.status == 200 && made["publicKey"] == shown["publicKey"]
                    && shown["publicKey"]?.utf8.count == 89, "\(made) \(shown)")
            let key = VAPIDKey.makePrivateKey().withValue { $0 }
            let own = try await app.master(
                "PUT", "/notifications/credentials/webpush",
                #"{"subject":"mailto:push@example.com","privateKey":"\#(key)"}"#)
            #expect(own.status == 200 && own["publicKey"] != made["publicKey"] && !own.text.contains(key))
            #expect(try await app.staff("GET", "/push/key").isProblem(.forbidden))
        }
    }

    static let refusals: [(kind: String, body: String, code: ErrorCode, field: String?)] = {
        let (key, pem) = (SimulatedKey(), JSONValue.quote(SimulatedKey().pem))
        func apns(
            key: String = pem, keyID: String = "ABCDE12345", team: String = "ABCDE12345", bundles: String = #"["a.b"]"#,
            more: String = ""
        ) -> String {
            #"{"key":\#(key),"keyId":"\#(keyID)","teamId":"\#(team)","bundleIds":\#(bundles)\#(more)}"#
        }
        return [
            ("apns", "", .invalidJSON, nil), ("apns", "{", .invalidJSON, nil),
            ("apns", apns(key: "\"-----BEGIN\""), .invalidBody, "key"),
            ("apns", apns(key: JSONValue.quote(key.privateKey.publicKey.pemRepresentation)), .invalidBody, "key"),
            ("apns", apns(keyID: "abcde12345"), .invalidBody, "keyId"),
            ("apns", apns(team: "ABC"), .invalidBody, "teamId"),
            ("apns", apns(bundles: "[]"), .invalidBody, "bundleIds"),
            ("apns", apns(bundles: #"["a b"]"#), .invalidBody, "bundleIds"),
            ("apns", apns(bundles: #"["a.b","a.b"]"#), .invalidBody, "bundleIds"),
            ("apns", apns(more: #","p12":"x""#), .invalidBody, "p12"),
            ("apns", apns(more: #","sandbox":{"keyId":"ABCDE12345"}"#), .invalidBody, "sandbox.key"),
            ("apns", apns(more: #","sandbox":{"keyId":"A","key":\#(pem)}"#), .invalidBody, "sandbox.keyId"),
            ("apns", apns(more: #","sandbox":1"#), .invalidBody, "sandbox"),
            ("fcm", "{}", .invalidBody, "serviceAccount"),
            ("fcm", #"{"serviceAccount":"{}"}"#, .invalidBody, "serviceAccount"),
            ("fcm", #"{"serviceAccount":{"type":"service_account"}}"#, .invalidBody, "serviceAccount"),
            ("webpush", "{}", .invalidBody, "subject"),
            ("webpush", #"{"subject":"push@example.com"}"#, .invalidBody, "subject"),
            ("webpush", #"{"subject":"mailto:a@b","privateKey":"x"}"#, .invalidBody, "privateKey"),
            ("pigeon", "{}", .credentialNotFound, nil),
        ]
    }()

    @Test func `invalid credentials are refused, and the existing one stays`() async throws {
        try await NotificationsApp.run { app in
            let key = SimulatedKey()
            #expect(
                try await app.master("PUT", "/notifications/credentials/apns", NotificationsApp.json(key)).status == 200
            )
            for refusal in Self.refusals {
                let answer = try await app.master("PUT", "/notifications/credentials/\(refusal.kind)", refusal.body)
                #expect(
                    answer.isProblem(refusal.code, field: refusal.field), "\(refusal.kind) \(refusal.body): \(answer)")
                #expect(!answer.text.contains("BEGIN"))
            }
            let list = try await app.master("GET", "/notifications/credentials")
            #expect(list["count"] == "1" && list["data.0.keyId"] == "\"\(key.keyID)\"")
        }
    }

    @Test func `only the app's server and staff with the right are admitted`() async throws {
        try await NotificationsApp.run { app in
            let upload = NotificationsApp.json(SimulatedKey())
            for (method, path) in [
                ("GET", "/notifications/credentials"), ("GET", "/notifications/credentials/apns"),
                ("PUT", "/notifications/credentials/apns"),
                ("DELETE", "/notifications/credentials/apns"), ("POST", "/notifications/credentials/apns/test"),
                ("GET", "/notifications/installations"),
                ("GET", "/notifications/installations/counts"),
            ] {
                let body = method == "PUT" || method == "POST" ? upload : nil
                #expect(try await app.client(method, path, body, user: "u").isProblem(.forbidden), "\(method) \(path)")
                #expect(try await app.staff(method, path, body).isProblem(.forbidden), "\(method) \(path)")
                if method != "GET" {
                    #expect(
                        try await app.staff(method, path, body, rights: Self.rights).isProblem(.forbidden),
                        "\(method) \(path)")
                }
            }
            let rows = try await app.postgres.query("SELECT FROM notifications.credentials")
            #expect(rows.isEmpty)
        }
    }

    @Test func `a credential sealed under another internal secret does not work and is reported`() async throws {
        try await NotificationsApp.run { app in
            _ = try await app.master("PUT", "/notifications/credentials/apns", NotificationsApp.json(SimulatedKey()))
            let other = CredentialStore(
                postgres: app.postgres,
                sealing: SealingKey(internalSecret: Secret("another-internal-secret-0123456789"), for: "x"))
            let space = try await app.space.id
            #expect(try await other.current(space, known: nil).apns == nil)
            #expect(try await other.read(.apns, in: space)?.broken != nil)
            #expect(try await other.content(APNsKeyFile.self, in: space) == nil)
            // Data sealed for one space cannot be opened in another.
            try await app.postgres.execute(
                "INSERT INTO notifications.spaces (app_id, environment) VALUES ('app2', 'live')")
            try await app.postgres.execute(
                """
                INSERT INTO notifications.credentials (space, kind, shown, sealed, author)
                SELECT (SELECT id FROM notifications.spaces WHERE app_id = 'app2'), kind, shown, sealed, author FROM notifications.credentials
                """)
            let moved = try await app.service.spaces.space(of: "app2", .live).id
            #expect(try await app.service.devices.credentials.store.current(moved, known: nil).apns == nil)
        }
    }
}
