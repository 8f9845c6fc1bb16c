import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import NIOCore
import Testing

@testable import MartletHTTP

@Suite struct WebhookSenderTests {
    private static let secrets = [WebhookSecret(key: [1, 2, 3]), WebhookSecret(key: [4])]
    private static let body = ByteBuffer(string: #"{"type":"ü"}"#)

    private func send(
        to url: String,
        by sender: WebhookSender = WebhookSender(
            arePrivateAddressesAllowed: true, now: { Date(timeIntervalSince1970: 1_700_000_000.9) }),
        within timeout: Duration = .seconds(120)
    ) async throws -> WebhookOutcome {
        try await sender.send(
            Self.body, id: "msg_1", to: url, signedBy: Self.secrets, within: timeout, upTo: 1_000)
    }

    @Test func `The message is JSON, signed with each secret as in Standard Webhooks`() async throws {
        let receiver = try await HookReceiver { _ in (202, "taken") }
        let outcome = try await send(to: receiver.url)
        #expect(
            outcome.isAccepted && outcome.status == 202 && String(buffer: outcome.body) == "taken"
                && outcome.cause == nil)
        let received = try #require(receiver.received.first)
        #expect(receiver.received.count == 1 && received.body == String(buffer: Self.body))
        #expect(received.headers["content-type"] == "application/json" && received.headers["user-agent"] == "Martlet")
        #expect(received.headers["webhook-id"] == "msg_1" && received.headers["webhook-timestamp"] == "1700000000")
        let signatures = Self.secrets.map {
            $0.signature(id: "msg_1", timestamp: 1_700_000_000, body: Data(Self.body.readableBytesView))
        }
        #expect(received.headers["webhook-signature"] == signatures.joined(separator: " "))
    }

    @Test(
        arguments: [
            (200, "{}", nil, nil), (299, "", nil, nil), (302, "http://127.0.0.1:1/", "302", nil),
            (400, #"{"error":"no"}"#, "400", nil),
            (410, "", "410", nil), (429, "7", "429", 7), (429, "864000", "429", 86_400), (429, "soon", "429", nil),
            (429, "-1", "429", nil),
            (500, "oh", "500", nil),
        ] as [(Int, String, String?, Int?)])
    func `The status says whether the message was accepted, and 429 when to retry; redirects are not followed`(
        _ status: Int, _ body: String, _ failure: String?, _ pause: Int?
    ) async throws {
        let receiver = try await HookReceiver { _ in (status, body) }
        let outcome = try await send(to: receiver.url)
        #expect(outcome.status == status && String(buffer: outcome.body) == body)
        #expect(
            outcome.failure == failure.map { "The server answered with the status \($0)." }
                && outcome.isAccepted == (failure == nil))
        #expect(outcome.retryAfter == pause.map { .seconds($0) } && outcome.isGone == (status == 410))
        #expect(receiver.received.count == 1)
    }

    @Test
    func `A response that is too large or missing counts as none, and so does a failed connection`()
        async throws
    {
        let large = try await HookReceiver { _ in (200, String(repeating: "x", count: 1_001)) }
        #expect(try await send(to: large.url) == WebhookOutcome(.answerTooLarge))
        let hole = BlackHole()
        let silent = try await HookReceiver { _ in
            await hole.call()
            return (200, "")
        }
        #expect(try await send(to: silent.url, within: .milliseconds(200)) == WebhookOutcome(.timeout))
        hole.end()
        let port = try FreePort.find()
        let away = try await send(to: "http://127.0.0.1:\(port)/")
        #expect(away.failure == OutgoingFailure.unreachable("").sentence && away.status == nil && !away.isAccepted)
    }

    @Test
    func
        `Only the public internet is contacted unless private addresses are allowed, whatever a name resolves to`()
        async throws
    {
        let receiver = try await HookReceiver()
        let elsewhere: @Sendable (String) async -> [[UInt8]] = { _ in [[93, 184, 215, 14]] }
        let cases: [(WebhookSender, OutgoingFailure)] = [
            (WebhookSender(arePrivateAddressesAllowed: false), .invalidURL),
            (WebhookSender(arePrivateAddressesAllowed: false, isPlainHTTPAllowed: true), .privateAddress),
            // The address of the connection itself is checked.
            (
                WebhookSender(arePrivateAddressesAllowed: false, isPlainHTTPAllowed: true, lookUp: elsewhere),
                .privateAddress
            ),
            (
                WebhookSender(arePrivateAddressesAllowed: false, isPlainHTTPAllowed: true) { _ in
                    [[93, 184, 215, 14], [10, 0, 0, 1]]
                },
                .privateAddress
            ),
        ]
        for (sender, failure) in cases {
            #expect(try await send(to: receiver.url, by: sender) == WebhookOutcome(failure))
        }
        #expect(receiver.received.isEmpty)
        #expect(try await send(to: receiver.url).isAccepted)
    }

    @Test(arguments: [
        ("https://hooks.example.com/a?b=c", true, true), ("https://127.0.0.1/", false, true),
        ("https://[::1]/", false, true),
        ("http://hooks.example.com/", false, true), ("https://user@hooks.example.com/", false, false),
        ("https://a.example/#b", false, false),
        ("ftp://a.example/", false, false), ("https:///", false, false), ("/a", false, false), ("", false, false),
        ("https://a.example/" + String(repeating: "x", count: 2_048), false, false),
    ]) func `An unusable address is a problem of its field`(
        _ url: String, _ isAllowed: Bool, _ isAllowedInside: Bool
    ) async throws {
        let lookUp: @Sendable (String) async -> [[UInt8]] = {
            switch $0 {
            case "127.0.0.1": [[127, 0, 0, 1]]
            case "::1": [[UInt8](repeating: 0, count: 15) + [1]]
            default: []
            }
        }
        for (isPrivateAllowed, isAllowed) in [(false, isAllowed), (true, isAllowedInside)] {
            let sender = WebhookSender(arePrivateAddressesAllowed: isPrivateAllowed, lookUp: lookUp)
            do {
                try await sender.check(url, field: "a.url")
                #expect(isAllowed, "\(url)")
            } catch let problem as ServiceError {
                #expect(!isAllowed && problem.code == .invalidBody && problem.field == "a.url", "\(url)")
            }
        }
    }
}
