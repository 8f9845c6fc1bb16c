public import Foundation

/// How the simulator answers requests for a device.
public enum SimulatedDevice: Sendable {
    case registered
    /// 410 `Unregistered`
    case unregistered(since: Date)
    /// 410 `ExpiredToken`
    case expired(since: Date)
    /// Answers every request with this status and reason.
    case answers(status: Int, reason: String, retryAfter: String? = nil)
    /// Answers one request with this status and reason; the device is then registered.
    case answersOnce(status: Int, reason: String, retryAfter: String? = nil)
    /// Never answers.
    case silent
}

/// A fault of a connection. It happens once, to the connection that receives the next request.
public enum SimulatedIncident: Sendable {
    /// After this many requests, the server sends GOAWAY: it answers the first ones and ignores the others.
    case goAway(after: Int, processing: Int, reason: String? = nil)
    /// After this many requests, the connection closes without an answer. The first ones were processed.
    case disconnect(after: Int, processing: Int)
    /// This many requests are refused without being processed (REFUSED_STREAM).
    case refuse(Int)
    /// This many requests are processed and then reset.
    case reset(Int)
    /// The server stops reading, as if the network had failed. The connection stays open.
    case freeze
}

/// A request as received.
public struct SimulatedRequest: Sendable {
    public var device: String
    public var headers: [String: String]
    public var payload: [UInt8]
    public var connection: Int

    public var id: String { headers["apns-id"] ?? "" }
    public var text: String { String(decoding: payload, as: UTF8.self) }
}
