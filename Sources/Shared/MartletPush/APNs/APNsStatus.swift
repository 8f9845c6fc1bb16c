/// The state of a client.
public struct APNsStatus: Sendable, Equatable {
    public var connections: Int
    /// Since the client was created.
    public var openedConnections: Int
    public var inFlight: Int
    public var waiting: Int
    /// Why the last connection failed; nil if connections work.
    public var lastFailure: String?
}
