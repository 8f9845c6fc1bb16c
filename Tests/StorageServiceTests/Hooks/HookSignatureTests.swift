import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

@Suite struct HookSignatureTests {
    private static let python = ProcessInfo.processInfo.environment["MARTLET_TEST_PYTHON"].flatMap {
        $0.isEmpty ? nil : $0
    }

    @Test(
        "signatures follow the Standard Webhooks scheme",
        arguments: [
            // Examples from the scheme's own libraries.
            (
                "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330,
                #"{"test": 2432232314}"#,
                "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
            ),
            // Made with Python's hmac.
            (
                "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "019f1e2d-0000-7000-8000-000000000000",
                1_795_262_400,
                #"{"grüße":"ß","n":1.10}"#, "v1,20P7iOmpLnQGUFJR8LisQrDNwSxTULH1QcsJRsE6ILI="
            ),
        ] as [(String, String, Int64, String, String)])
    func vectors(secret: String, id: String, timestamp: Int64, body: String, signature: String) throws {
        let hook = try #require(WebhookSecret(secret))
        #expect(hook.text.withValue { $0 } == secret)
        #expect(hook.signature(id: id, timestamp: timestamp, body: Data(body.utf8)) == signature)
        #expect(hook.signature(id: id, timestamp: timestamp + 1, body: Data(body.utf8)) != signature)
        #expect(WebhookSecret(String(secret.dropFirst())) == nil)
    }

    @Test("no two hooks, spaces, salts or internal secrets share a secret")
    func derivation() async throws {
        let app = try await StorageApp()
        let (salt, other) = (WebhookSecrets.makeSalt(), WebhookSecrets.makeSalt())
        let secrets = HookSecrets(internalSecret: Secret("an-internal-secret-of-the-tests-0123456789"))
        let texts = [
            secrets.secret(salt: salt, hook: "a", space: try app.space()),
            secrets.secret(salt: other, hook: "a", space: try app.space()),
            secrets.secret(salt: salt, hook: "b", space: try app.space()),
            secrets.secret(salt: salt, hook: "a", space: try app.space(.test)),
            HookSecrets(internalSecret: Secret("another-internal-secret-of-tests-0123456789")).secret(
                salt: salt, hook: "a", space: try app.space()),
        ].map { $0.text.withValue { $0 } }
        #expect(Set(texts).count == 5)
        #expect(secrets.secret(salt: salt, hook: "a", space: try app.space()).text.withValue { $0 } == texts[0])
    }

    @Test("a message verifies with the shown secret, and after a rotation with the new and the former one")
    func requests() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver()
        let first = try await app.hook("f", "function", at: receiver)
        #expect(try await app.master.post("/functions/f", #"{"a":"ü"}"#).status == 200)
        #expect(Self.signers(of: receiver.received[0], among: [first]) == [true])
        let rotated = try await app.master.post("/hooks/f/secret")
        guard case .string(let second) = rotated.json?["secret"] else { throw CancellationError() }
        #expect(second != first)
        #expect(try await app.master.post("/functions/f").status == 200)
        #expect(Self.signers(of: receiver.received[1], among: [second, first, "whsec_AAAA"]) == [true, true, false])
        #expect(receiver.received[0].headers["webhook-id"] != receiver.received[1].headers["webhook-id"])
        _ = try await app.superuser.execute(
            "UPDATE \(try app.space().own("_hooks")) SET former_until = now() - interval '1 second'")
        _ = try await app.master.put("/hooks/f", #"{"event":"function","url":"\#(receiver.url)"}"#)
        #expect(try await app.master.post("/functions/f").status == 200)
        #expect(Self.signers(of: receiver.received[2], among: [second, first]) == [true, false])
        #expect(try await app.master.post("/hooks/none/secret").isProblem(.hookNotFound))
    }

    @Test("PyPI's standardwebhooks verifies genuine messages only", .enabled(if: python != nil))
    func otherLibrary() async throws {
        let app = try await StorageApp()
        let receiver = try await HookReceiver()
        let secret = try await app.hook("f", "function", at: receiver)
        #expect(try await app.master.post("/functions/f", #"{"a":"ü","n":1.10}"#).status == 200)
        let request = receiver.received[0]
        #expect(try await verifies(request.body, request, secret))
        #expect(try await !verifies(request.body + " ", request, secret))
        #expect(try await !verifies(request.body, request, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
    }

    private static func signers(of request: HookReceiver.Received, among secrets: [String]) -> [Bool] {
        let signatures = (request.headers["webhook-signature"] ?? "").split(separator: " ").map(String.init)
        let (id, timestamp) = (
            request.headers["webhook-id"] ?? "", Int64(request.headers["webhook-timestamp"] ?? "") ?? 0
        )
        return secrets.map { secret in
            WebhookSecret(secret).map {
                signatures.contains($0.signature(id: id, timestamp: timestamp, body: Data(request.body.utf8)))
            } ?? false
        }
    }

    private func verifies(_ body: String, _ request: HookReceiver.Received, _ secret: String) async throws -> Bool {
        let script = """
            import base64, sys
            from standardwebhooks.webhooks import Webhook, WebhookVerificationError
            secret, body, *headers = [base64.b64decode(a).decode() for a in sys.argv[1:]]
            names = ["webhook-id", "webhook-timestamp", "webhook-signature"]
            try:
                Webhook(secret).verify(body, dict(zip(names, headers)))
            except WebhookVerificationError:
                sys.exit(3)
            """
        let headers = ["webhook-id", "webhook-timestamp", "webhook-signature"].map { request.headers[$0] ?? "" }
        let process = Process()
        process.executableURL = URL(filePath: try #require(Self.python))
        process.arguments = ["-c", script] + ([secret, body] + headers).map { Data($0.utf8).base64EncodedString() }
        let status = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<Int32, any Error>) in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        #expect(status == 0 || status == 3, "Python failed")
        return status == 0
    }
}
