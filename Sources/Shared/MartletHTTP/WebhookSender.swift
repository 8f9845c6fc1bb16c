import AsyncHTTPClient
public import Foundation
import MartletAPI
public import MartletCore
public import NIOCore
import NIOHTTP1

/// Sends webhooks to servers that apps choose, following the Standard Webhooks scheme
/// (https://www.standardwebhooks.com).
///
/// By default it calls only public internet addresses, over https. The restrictions of `OutgoingClient` apply: no
/// redirects, and limits on the size and time of answers.
public struct WebhookSender: Sendable {
    private let client: OutgoingClient
    private let isPlainHTTPAllowed: Bool
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - arePrivateAddressesAllowed: Also allows loopback and link-local addresses, and plain HTTP: for servers in
    ///     the operator's own network.
    ///   - isPlainHTTPAllowed: Also allows plain HTTP to public addresses.
    ///   - lookUp: Resolves a name to addresses, as bytes.
    ///   - connectionsPerHost: Maximum number of open connections; further requests wait.
    public init(
        arePrivateAddressesAllowed: Bool, isPlainHTTPAllowed: Bool = false,
        lookUp: @escaping @Sendable (String) async -> [[UInt8]] = { await NameLookup.addresses(of: $0) },
        connectionsPerHost: Int = 8, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        client = OutgoingClient(
            arePrivateAddressesAllowed ? .anywhere : .publicAddresses(lookUp: lookUp),
            connectionsPerHost: connectionsPerHost)
        self.now = now
        self.isPlainHTTPAllowed = arePrivateAddressesAllowed || isPlainHTTPAllowed
    }

    /// Checks that webhooks may be sent to the URL. A host name that cannot be resolved yet is accepted.
    ///
    /// - Parameter field: The name of the body's field, for the error.
    /// - Throws: `ServiceError` (`invalid-body`) naming the field; `CancellationError`.
    public func check(_ url: String, field: String) async throws {
        do {
            try await client.check(url) { _ in isPlainHTTPAllowed }
        } catch let failure as OutgoingFailure {
            throw ServiceError(.invalidBody, failure.sentence, field: field)
        }
    }

    /// Posts JSON, without retries.
    ///
    /// - Parameters:
    ///   - id: Identical for all attempts to deliver the same message, so that receivers can deduplicate.
    ///   - secrets: The current one, then others that also sign.
    ///   - limitInBytes: Maximum size of the answer's body.
    /// - Throws: `CancellationError`. All other failures are in the outcome.
    public func send(
        _ body: ByteBuffer, id: String, to url: String, signedBy secrets: [WebhookSecret],
        within timeout: Duration = .seconds(10), upTo limitInBytes: Int = 64 << 10
    ) async throws -> WebhookOutcome {
        do {
            // The settings may have changed since the address was stored.
            _ = try OutgoingClient.host(of: url) { _ in isPlainHTTPAllowed }
            let request = Self.request(body, id: id, to: url, signedBy: secrets, at: now())
            return WebhookOutcome(try await client.send(request, within: timeout, upTo: limitInBytes))
        } catch let failure as OutgoingFailure {
            return WebhookOutcome(failure)
        }
    }

    private static func request(
        _ body: ByteBuffer, id: String, to url: String, signedBy secrets: [WebhookSecret], at time: Date
    ) -> HTTPClientRequest {
        let timestamp = Int64(time.timeIntervalSince1970)
        let signatures = secrets.map { $0.signature(id: id, timestamp: timestamp, body: Data(body.readableBytesView)) }
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        request.headers.add(name: "user-agent", value: "Martlet")
        request.headers.add(name: "webhook-id", value: id)
        request.headers.add(name: "webhook-timestamp", value: String(timestamp))
        request.headers.add(name: "webhook-signature", value: signatures.joined(separator: " "))
        request.body = .bytes(body)
        return request
    }
}

/// The result of an attempt to call a webhook.
public struct WebhookOutcome: Sendable, Equatable {
    private static let maximumPauseInSeconds = 86_400

    /// The status of the answer, if any.
    public let status: Int?
    public let body: ByteBuffer
    /// Why there was no answer; nil if there was one.
    public let failedBy: OutgoingFailure?
    /// Why the message was not accepted, in words for the user who chose the address; nil if it was accepted.
    public let failure: String?
    /// The same reason, worded for the log.
    public let cause: String?
    /// The delay that the receiver requests with 429 or 503 (RFC 9110 §10.2.3), if given in seconds; at most a day.
    public let retryAfter: Duration?

    public var isAccepted: Bool { failure == nil }
    /// Whether the receiver refuses all further messages (Standard Webhooks).
    public var isGone: Bool { status == 410 }

    init(_ answer: OutgoingClient.Answer) {
        (status, body, failedBy) = (answer.status, answer.body, nil)
        failure = (200..<300).contains(answer.status) ? nil : "The server answered with the status \(answer.status)."
        cause = failure
        let pause = answer.headers.first(name: "retry-after").flatMap { Int($0) } ?? -1
        retryAfter =
            [429, 503].contains(answer.status) && pause >= 0 ? .seconds(min(pause, Self.maximumPauseInSeconds)) : nil
    }

    /// The outcome of an attempt without an answer.
    public init(_ failure: OutgoingFailure) {
        (status, body, failedBy, retryAfter) = (nil, ByteBuffer(), failure, nil)
        self.failure = failure.sentence
        cause = failure.cause
    }
}
