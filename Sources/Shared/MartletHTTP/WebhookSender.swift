import AsyncHTTPClient
public import Foundation
import MartletAPI
public import MartletCore
public import NIOCore
import NIOHTTP1

/// Tells servers that apps choose, as the Standard Webhooks scheme has it (https://www.standardwebhooks.com).
///
/// Unless private addresses are allowed: only at addresses of the public internet, and by https. What `OutgoingClient` keeps from is kept from:
/// no redirect is followed, no answer read beyond a limit or after the time.
public struct WebhookSender: Sendable {
    private let client: OutgoingClient
    private let isPlainHTTPAllowed: Bool

    /// - Parameters:
    ///   - arePrivateAddressesAllowed: also loopback and link-local ones, and plain HTTP: for servers of one's own network.
    ///   - isPlainHTTPAllowed: to public addresses too.
    ///   - lookUp: a name's addresses, as bytes.
    ///   - connectionsPerHost: kept open at the most; more requests than that wait.
    public init(
        arePrivateAddressesAllowed: Bool, isPlainHTTPAllowed: Bool = false,
        lookUp: @escaping @Sendable (String) async -> [[UInt8]] = { await NameLookup.addresses(of: $0) }, connectionsPerHost: Int = 8
    ) {
        client = OutgoingClient(
            arePrivateAddressesAllowed ? .anywhere : .publicAddresses(lookUp: lookUp), connectionsPerHost: connectionsPerHost)
        self.isPlainHTTPAllowed = arePrivateAddressesAllowed || isPlainHTTPAllowed
    }

    /// Whether there could be a receiver at the address. A name that is not known yet may be known later.
    ///
    /// - Parameter field: the body's, to be named.
    /// - Throws: `HTTPProblem` (`invalid-body`) naming the field; `CancellationError`.
    public func check(_ url: String, field: String) async throws {
        do {
            try await client.check(url) { _ in isPlainHTTPAllowed }
        } catch let failure as OutgoingFailure {
            throw HTTPProblem(.invalidBody, failure.sentence, field: field)
        }
    }

    /// Posts JSON once.
    ///
    /// - Parameters:
    ///   - id: the same for every attempt to tell the same thing, so that receivers can drop what they had already.
    ///   - secrets: the one in force, then others that sign along.
    ///   - limitInBytes: of the answer's body.
    /// - Throws: `CancellationError`. What comes of it otherwise is in the outcome.
    public func send(
        _ body: ByteBuffer, id: String, to url: String, signedBy secrets: [WebhookSecret], at time: Date = Date(),
        within timeout: Duration = .seconds(10), upTo limitInBytes: Int = 64 << 10
    ) async throws -> WebhookOutcome {
        do {
            // The settings may have been others when the address was set.
            _ = try OutgoingClient.host(of: url) { _ in isPlainHTTPAllowed }
            let request = Self.request(body, id: id, to: url, signedBy: secrets, at: time)
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

/// What became of an attempt to tell a webhook.
public struct WebhookOutcome: Sendable, Equatable {
    private static let maximumPauseInSeconds = 86_400

    /// That was answered.
    public let status: Int?
    public let body: ByteBuffer
    /// Why there was no answer.
    public let failedBy: OutgoingFailure?
    /// Why it was not accepted, in words for whoever chose the address; nil: it was.
    public let failure: String?
    /// The same for the log.
    public let cause: String?
    /// What the receiver asks for with 429 and 503 (RFC 9110 §10.2.3), in its form of seconds; a day at most.
    public let retryAfter: Duration?

    public var isAccepted: Bool { failure == nil }
    /// The receiver wants no more (Standard Webhooks).
    public var isGone: Bool { status == 410 }

    init(_ answer: OutgoingClient.Answer) {
        (status, body, failedBy) = (answer.status, answer.body, nil)
        failure = (200..<300).contains(answer.status) ? nil : "It answered with the status \(answer.status)."
        cause = failure
        let pause = answer.headers.first(name: "retry-after").flatMap { Int($0) } ?? -1
        retryAfter = [429, 503].contains(answer.status) && pause >= 0 ? .seconds(min(pause, Self.maximumPauseInSeconds)) : nil
    }

    /// Without an answer.
    public init(_ failure: OutgoingFailure) {
        (status, body, failedBy, retryAfter) = (nil, ByteBuffer(), failure, nil)
        self.failure = failure.sentence
        cause = failure.cause
    }
}
