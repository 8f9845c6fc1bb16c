import Crypto
import Foundation
import MartletCore
import MartletPushSimulator
import MartletTesting
import Testing

@testable import MartletPush

/// RFC 8291 and RFC 8188, checked with the RFCs' own examples and another program.
@Suite struct WebPushEncryptionTests {
    private func bytes(_ text: String) throws -> Data { try #require(Base64URL.decode(text)) }

    @Test(.enabled(if: Vectors.areThere, "MARTLET_VECTORS is not set"))
    func `The example of RFC 8291 is reproduced byte for byte`() throws {
        let vector = try Vectors.read().rfc8291
        let subscription = try WebPushSubscription(
            endpoint: "https://push.example.net/push/1", publicKey: vector.ua_public,
            authenticationSecret: vector.auth_secret)
        let message = try WebPushEncryption.encrypt(
            bytes(vector.plaintext), for: subscription, salt: bytes(vector.salt),
            key: .init(rawRepresentation: bytes(vector.as_private)))
        #expect(Base64URL.encode(message) == vector.message)
        let receiver = WebPushReceiver(
            privateKey: try .init(rawRepresentation: bytes(vector.ua_private)),
            authenticationSecret: try bytes(vector.auth_secret))
        #expect(try receiver.open(message) == bytes(vector.plaintext))
    }

    @Test(.enabled(if: Vectors.areThere, "MARTLET_VECTORS is not set"))
    func `The examples of RFC 8188 are read, and the one with a single record is written`() throws {
        let vectors = try Vectors.read().rfc8188
        for vector in vectors {
            let text = try WebPushReceiver.open(bytes(vector.message), key: SymmetricKey(data: bytes(vector.key)))
            #expect(String(decoding: text, as: UTF8.self) == "I am the walrus")
        }
        let first = try #require(vectors.first)
        let sealed = try EncryptedContent.seal(
            "I am the walrus".utf8, key: SymmetricKey(data: bytes(first.key)), salt: bytes(first.message).prefix(16))
        #expect(Base64URL.encode(sealed) == first.message)
    }

    @Test func `A message can be read only by its browser, and is never encrypted the same way twice`() throws {
        let (receiver, other) = (WebPushReceiver(), WebPushReceiver())
        let subscription = try subscription(receiver)
        var seen: Set<Data> = []
        for size in [0, 1, 100, WebPushEncryption.maximumPlaintextSizeInBytes] {
            let text = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) })
            for _ in 0..<3 {
                let message = try WebPushEncryption.encrypt(text, for: subscription)
                #expect(seen.insert(message).inserted && message.count == size + 103)
                #expect(try receiver.open(message) == text)
                #expect(throws: (any Error).self) { try other.open(message) }
            }
        }
        #expect(WebPushEncryption.maximumPlaintextSizeInBytes == 3_993)
    }

    @Test(.enabled(if: TestTools.python != nil, "MARTLET_TEST_PYTHON is not set"))
    func `Another program decrypts our messages (http_ece)`() async throws {
        let texts = ["", "a", "Grüße 😀", String(repeating: "0123456789", count: 399)]
        var input = ""
        for text in texts {
            let receiver = WebPushReceiver()
            let message = try WebPushEncryption.encrypt(text.utf8, for: subscription(receiver))
            let (key, auth) = (
                Base64URL.encode(receiver.privateKey.rawRepresentation), Base64URL.encode(receiver.authenticationSecret)
            )
            input += #"{"key":"\#(key)","auth":"\#(auth)","body":"\#(Base64URL.encode(message))"}"# + "\n"
        }
        let python = try #require(TestTools.python)
        let output = try await onOwnThread { [input] in
            let process = Process()
            let (stdin, stdout) = (Pipe(), Pipe())
            process.executableURL = URL(fileURLWithPath: python)
            process.arguments = [
                URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(
                    path: "Support/decrypt.py"
                ).path
            ]
            (process.standardInput, process.standardOutput) = (stdin, stdout)
            try process.run()
            stdin.fileHandleForWriting.write(Data(input.utf8))
            try stdin.fileHandleForWriting.close()
            let output = stdout.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return output
        }
        let read = try output.split(separator: UInt8(ascii: "\n")).map {
            try JSONDecoder().decode(String.self, from: $0)
        }
        #expect(read == texts)
    }

    private func subscription(_ receiver: WebPushReceiver) throws -> WebPushSubscription {
        try WebPushSubscription(
            endpoint: "https://push.example.net/1", publicKey: receiver.publicKey,
            authenticationSecret: Base64URL.encode(receiver.authenticationSecret))
    }

    @Test func `An invalid subscription is refused`() throws {
        let receiver = WebPushReceiver()
        let (key, auth) = (receiver.publicKey, Base64URL.encode(receiver.authenticationSecret))
        func error(_ endpoint: String, _ key: String, _ auth: String) -> WebPushSubscriptionError? {
            do {
                _ = try WebPushSubscription(endpoint: endpoint, publicKey: key, authenticationSecret: auth)
                return nil
            } catch {
                return error
            }
        }
        #expect(error("https://push.example.net/1", key, auth) == nil)
        #expect(error("https://push.example.net/1", key + "=", auth + "==") == nil)
        for endpoint in [
            "", "push", "http://push.example.net/1", "ftp://push.example.net/", "https://user@push.example.net/",
            "https://push.example.net/#x",
            "https:///x", "https://push.example.net/ x",
            "https://push.example.net/" + String(repeating: "x", count: 1_000),
        ] { #expect(error(endpoint, key, auth) == .invalidEndpoint, "\(endpoint)") }
        let compressed = Base64URL.encode(receiver.privateKey.publicKey.compressedRepresentation)
        for key in ["", "AAAA", compressed, String(key.dropLast(2)), "+" + key] {
            #expect(error("https://push.example.net/1", key, auth) == .invalidPublicKey)
        }
        for auth in ["", "AAAA", auth + "AAAA", "!"] {
            #expect(error("https://push.example.net/1", key, auth) == .invalidAuthenticationSecret)
        }
    }

    @Test(arguments: [
        ("https://push.example.net/a/b?c", "https://push.example.net"),
        ("https://Push.Example.net:443/", "https://push.example.net"),
        ("https://push.example.net:8443/x", "https://push.example.net:8443"),
        ("http://127.0.0.1:80/x", "http://127.0.0.1:80"),
    ])
    func `The audience of a token is the endpoint's origin`(endpoint: String, origin: String) {
        #expect(WebPushEndpoint.origin(of: endpoint) == origin)
    }
}

/// The values printed in the RFCs.
private struct Vectors: Decodable {
    struct WebPush: Decodable {
        var plaintext, as_private, ua_public, ua_private, salt, auth_secret, message: String
    }

    struct Content: Decodable {
        var section, key, message: String
    }

    var rfc8291: WebPush
    var rfc8188: [Content]

    static let file =
        ProcessInfo.processInfo.environment["MARTLET_VECTORS"].map { $0 + "/push/webpush-rfc-vectors.json" } ?? ""
    static var areThere: Bool { FileManager.default.fileExists(atPath: file) }

    static func read() throws -> Vectors {
        try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: URL(fileURLWithPath: file)))
    }
}
