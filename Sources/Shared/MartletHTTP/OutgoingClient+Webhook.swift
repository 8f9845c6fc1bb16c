public import AsyncHTTPClient
public import Foundation
public import MartletCore
public import NIOCore
import NIOHTTP1

extension HTTPClientRequest {
    /// A `POST` of JSON as the Standard Webhooks scheme has it.
    ///
    /// - Parameters:
    ///   - id: the same for every attempt to tell the same thing, so that receivers can drop what they had already.
    ///   - secrets: the one in force, then others that sign along.
    public static func webhook(
        _ url: String, _ body: ByteBuffer, id: String, at time: Date, signedBy secrets: [WebhookSecret]
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

extension OutgoingClient.Answer {
    /// What the receiver asks for with 429 and 503 (RFC 9110 §10.2.3), in its form of seconds; a day at most.
    public var retryAfter: Duration? {
        guard let seconds = headers.first(name: "retry-after").flatMap({ Int($0) }), seconds >= 0 else { return nil }
        return .seconds(min(seconds, 86_400))
    }
}
