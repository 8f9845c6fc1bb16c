public import Foundation

/// How APNs answers to what is for a device.
public enum SimulatedDevice: Sendable {
    case registered
    /// 410 `Unregistered`
    case unregistered(since: Date)
    /// 410 `ExpiredToken`
    case expired(since: Date)
    /// Whatever is to be tried, each time.
    case answers(status: Int, reason: String, retryAfter: String? = nil)
    /// Once; then it is registered.
    case answersOnce(status: Int, reason: String, retryAfter: String? = nil)
    /// Nothing at all.
    case silent
}

/// What goes wrong with a connection, once. The connection that gets the next request has it.
public enum SimulatedIncident: Sendable {
    /// When so many more requests have come, the server says that it worked on the first ones only, answers those, and
    /// takes no more.
    case goAway(after: Int, processing: Int, reason: String? = nil)
    /// When so many more requests have come, the connection is gone without an answer; the first ones were worked on.
    case disconnect(after: Int, processing: Int)
    /// So many more requests are refused without having been worked on (REFUSED_STREAM).
    case refuse(Int)
    /// So many more requests are worked on and then reset.
    case reset(Int)
    /// Nothing is read any more, as when the network has gone; the connection stays.
    case freeze
}

/// A request as it came.
public struct SimulatedRequest: Sendable {
    public var device: String
    public var headers: [String: String]
    public var payload: [UInt8]
    public var connection: Int

    public var id: String { headers["apns-id"] ?? "" }
    public var text: String { String(decoding: payload, as: UTF8.self) }
}
