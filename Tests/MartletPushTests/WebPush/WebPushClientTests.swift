import Foundation
import MartletCore
import MartletHTTP
import MartletPushSimulator
import Testing

@testable import MartletPush

@Suite struct WebPushClientTests {
    private let client = WebPushClient(client: OutgoingClient(.anywhere), now: { Date() })

    private func key() throws -> VAPIDKey {
        try VAPIDKey(privateKey: VAPIDKey.makePrivateKey(), subject: "mailto:push@example.com")
    }

    private func subscription(_ browser: WebPushSimulator.Browser) throws -> WebPushSubscription {
        try WebPushSubscription(
            endpoint: browser.endpoint, publicKey: browser.publicKey, authenticationSecret: browser.authenticationSecret
        )
    }

    private func message(_ text: String) -> WebPushMessage { WebPushMessage(EncodedPayload(.string(text))) }

    private func withPush(_ body: (WebPushSimulator) async throws -> Void) async throws {
        let simulator = try await WebPushSimulator.start()
        defer { simulator.stop() }
        try await body(simulator)
    }

    @Test func `A message arrives and can be read`() async throws {
        try await withPush { simulator in
            let browser = simulator.subscribe()
            var message = message("Grüße")
            (message.timeToLive, message.urgency, message.topic) = (.seconds(60), .high, "score")
            let outcome = await client.send(message, to: try subscription(browser), as: try key())
            guard case .accepted(let receipt) = outcome else { return #expect(Bool(false), "\(outcome)") }
            #expect(receipt.id?.hasPrefix(simulator.origin + "/message/") == true)
            let received = try #require(simulator.messages(of: browser).first)
            #expect(received.text == #""Grüße""#)
            for (name, value) in ["ttl": "60", "urgency": "high", "topic": "score", "content-encoding": "aes128gcm"] {
                #expect(received.headers[name] == value)
            }
        }
    }

    @Test func `An empty message wakes the page's worker`() async throws {
        try await withPush { simulator in
            let browser = simulator.subscribe()
            let outcome = await client.send(
                WebPushMessage(EncodedPayload()), to: try subscription(browser), as: try key())
            #expect(outcome.isAccepted)
            let received = try #require(simulator.messages(of: browser).first)
            #expect(
                received.headers["content-encoding"] == nil && received.headers["ttl"] == "2419200"
                    && received.headers["urgency"] == nil)
        }
    }

    @Test(arguments: [(404, true), (410, true), (400, false), (401, false), (403, false), (413, false), (301, false)])
    func `A response says whether the browser is gone or the message is invalid`(status: Int, isGone: Bool) async throws
    {
        try await withPush { simulator in
            let browser = simulator.subscribe()
            simulator.answer(browser, status: status)
            let now = Date()
            let client = WebPushClient(client: OutgoingClient(.anywhere), now: { now })
            let outcome = await client.send(message("x"), to: try subscription(browser), as: try key())
            let meaning: PushFailure.Meaning = isGone ? .deviceGone(unlessRegisteredSince: now) : .messageRejected
            #expect(outcome == .failed(PushFailure(meaning, reason: "status-\(status)", status: status)))
        }
    }

    @Test(
        arguments: [(429, "17", 17), (429, nil, 60), (500, nil, 60), (503, "5", 5), (507, nil, 60)]
            as [(Int, String?, Int)])
    func `A busy push service delays only its own browsers`(status: Int, retryAfter: String?, seconds: Int)
        async throws
    {
        try await withPush { simulator in
            let browser = simulator.subscribe()
            simulator.answer(browser, status: status, retryAfter: retryAfter)
            let outcome = await client.send(message("x"), to: try subscription(browser), as: try key())
            #expect(outcome.meaning == .backOff(.device, atLeast: .seconds(seconds)))
        }
    }

    @Test func `Internal endpoints are not contacted`() async throws {
        try await withPush { simulator in
            let browser = simulator.subscribe()
            let outcome = await WebPushClient(now: { Date() }).send(
                message("x"), to: try subscription(browser), as: try key())
            #expect(outcome.failure == PushFailure(.messageRejected, reason: "address-not-allowed"))
            #expect(simulator.messages(of: browser).isEmpty)
        }
    }

    @Test func `A message that is too large or has an invalid topic is not sent`() async throws {
        try await withPush { simulator in
            let browser = simulator.subscribe()
            let largest = message(String(repeating: "x", count: 3_991))
            let outcome = await client.send(largest, to: try subscription(browser), as: try key())
            #expect(outcome.isAccepted)
            #expect(message(String(repeating: "x", count: 3_992)).fault == .payloadTooLarge(sizeInBytes: 3_994))
            var message = message("x")
            for topic in ["", "a b", "ü", String(repeating: "x", count: 33)] {
                message.topic = topic
                let refused = await client.send(message, to: try subscription(browser), as: try key())
                #expect(refused.failure == PushFailure(.messageRejected, reason: "invalid-topic"))
            }
            #expect(simulator.messages(of: browser).count == 1)
        }
    }

    @Test func `A token is for one origin, is reused, and is replaced before it expires`() throws {
        let key = try key()
        let now = Date(timeIntervalSince1970: 1_795_200_000)
        let first = try key.authorization(for: "https://a.example", at: now)
        #expect(try key.authorization(for: "https://a.example", at: now + 10 * 3_600) == first)
        #expect(try key.authorization(for: "https://b.example", at: now) != first)
        let next = try key.authorization(for: "https://a.example", at: now + 11.5 * 3_600)
        #expect(next != first)
        let token = try #require(first.split(separator: "=")[1].split(separator: ",").first)
        let claims = try JSONValue(parsing: #require(Base64URL.decode(token.split(separator: ".")[1])))
        #expect(claims.text == #"{"aud":"https://a.example","exp":1795243200,"sub":"mailto:push@example.com"}"#)
        #expect(first.hasSuffix(", k=" + key.publicKey))
    }

    @Test func `A key may be bytes or PEM, and an invalid one is refused`() throws {
        let text = VAPIDKey.makePrivateKey()
        #expect(try VAPIDKey(privateKey: text, subject: "https://example.com/about").publicKey.count == 87)
        let pem = Secret(SimulatedKey().pem)
        #expect(try VAPIDKey(privateKey: pem, subject: "mailto:a@b").publicKey.count == 87)
        for wrong in ["", "AAAA", "x x"] {
            #expect(throws: PushCredentialError.self) { try VAPIDKey(privateKey: Secret(wrong), subject: "mailto:a@b") }
        }
        for subject in ["", "a@b", "mailto:", "http://example.com", "https://", "mailto:a@b\r\nx: y"] {
            #expect(throws: PushCredentialError.invalidSubject) { try VAPIDKey(privateKey: text, subject: subject) }
        }
    }
}
