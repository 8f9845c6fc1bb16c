import AsyncHTTPClient
public import Foundation
import MartletCore
public import MartletHTTP
import NIOCore
import NIOHTTP1

/// Sends messages to browsers. Browsers supply the addresses, so only public ones are reached.
public final class WebPushClient: Sendable {
    private static let timeout: Duration = .seconds(30)
    private static let maximumAnswerSizeInBytes = 64 << 10
    static let delay: Duration = .seconds(60)

    private let client: OutgoingClient
    private let semaphore: AsyncSemaphore
    private let now: @Sendable () -> Date

    /// - Parameters:
    ///   - concurrency: The maximum number of messages sent at the same time.
    ///   - maximumWaiting: Further messages fail as `notSent`.
    public init(
        client: OutgoingClient = OutgoingClient(.publicAddresses(), version: .upToHTTP2), concurrency: Int = 100,
        maximumWaiting: Int = 10_000,
        now: @escaping @Sendable () -> Date
    ) {
        self.client = client
        self.now = now
        semaphore = AsyncSemaphore(
            limit: concurrency, maximumWaiting: maximumWaiting, refusal: PushFailure(.notSent, reason: "queue-full"))
    }

    public func send(_ message: WebPushMessage, to subscription: WebPushSubscription, as key: VAPIDKey) async
        -> PushOutcome
    {
        if let fault = message.fault { return .failed(.messageRejected, reason: fault.reason) }
        guard let origin = WebPushEndpoint.origin(of: subscription.endpoint) else {
            return .failed(.messageRejected, reason: "address-not-allowed")
        }
        do {
            return try await semaphore.withPermit {
                guard let request = try? self.request(message, subscription, key, origin) else {
                    return .failed(.credentialBroken, reason: "encryption-failed")
                }
                return await post(request)
            }
        } catch {
            return .failed(error as? PushFailure ?? PushFailure(.notSent, reason: "cancelled"))
        }
    }

    private func request(
        _ message: WebPushMessage, _ subscription: WebPushSubscription, _ key: VAPIDKey, _ origin: String
    ) throws -> HTTPClientRequest {
        var request = HTTPClientRequest(url: subscription.endpoint)
        request.method = .POST
        request.headers.add(name: "ttl", value: "\(max(0, message.timeToLive.components.seconds))")
        if let urgency = message.urgency { request.headers.add(name: "urgency", value: urgency.rawValue) }
        if let topic = message.topic { request.headers.add(name: "topic", value: topic) }
        request.headers.add(name: "authorization", value: try key.authorization(for: origin, at: now()))
        // A message without a payload, which only wakes the page's worker, has nothing to encrypt.
        guard message.payload.sizeInBytes > 0 else { return request }
        request.headers.add(name: "content-encoding", value: "aes128gcm")
        request.headers.add(name: "content-type", value: "application/octet-stream")
        request.body = .bytes(
            ByteBuffer(
                bytes: try WebPushEncryption.encrypt(message.payload.buffer.readableBytesView, for: subscription)))
        return request
    }

    private func post(_ request: HTTPClientRequest) async -> PushOutcome {
        let sent = now()
        do {
            let answer = try await client.send(request, within: Self.timeout, upTo: Self.maximumAnswerSizeInBytes)
            let delay = RetryAfter.duration(answer.headers.first(name: "retry-after"), at: now())
            return Self.outcome(
                answer.status, location: answer.headers.first(name: "location"), sent: sent, retryAfter: delay)
        } catch {
            return .failed(PushFailure(outgoing: error))
        }
    }

    /// What a push service's status means (RFC 8030 §5, §7.3, §8.4; RFC 8292 §4.2).
    ///
    /// The device's owner chooses the server that answers, so no answer allows conclusions about other devices. Even a
    /// refused key only concerns the device: its subscription may have been made with another key.
    static func outcome(_ status: Int, location: String?, sent: Date, retryAfter: Duration?) -> PushOutcome {
        let meaning: PushFailure.Meaning
        switch status {
        case 200...299: return .accepted(PushReceipt(id: location))
        case 404, 410: meaning = .deviceGone(unlessRegisteredSince: sent)
        case 429, 500...599: meaning = .backOff(.device, atLeast: retryAfter ?? delay)
        default: meaning = .messageRejected
        }
        return .failed(meaning, reason: "status-\(status)", status: status)
    }
}
