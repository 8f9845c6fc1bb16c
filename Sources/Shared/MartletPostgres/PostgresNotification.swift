/// An element of `PostgresClient.listen`.
public struct PostgresNotification: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// Somebody ran `NOTIFY`.
        case message
        /// `LISTEN` took effect, for the first time or again after the connection was lost. Whatever was notified before may have
        /// been missed: look at the tables now.
        case reconnected
    }

    public let kind: Kind
    public let channel: String
    public let payload: String
    /// The server process that notified.
    public let processID: Int
    /// Whether notifications before this one may have been missed: after a reconnect, or when the reader was too slow.
    public let mayHaveMissed: Bool
}
