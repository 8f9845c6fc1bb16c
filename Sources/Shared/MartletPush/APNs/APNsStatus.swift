/// How a client is doing.
public struct APNsStatus: Sendable, Equatable {
    public var connections: Int
    /// Since the start.
    public var openedConnections: Int
    public var inFlight: Int
    public var waiting: Int
    /// Why the last connection failed; nil: they work.
    public var lastFailure: String?
}
