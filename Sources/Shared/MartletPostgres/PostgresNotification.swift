/// An element of `PostgresClient.listen`.
public struct PostgresNotification: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// A `NOTIFY`.
        case message
        /// `LISTEN` took effect, for the first time or after a reconnect. Earlier notifications may have been missed,
        /// so read the tables now.
        case reconnected
    }

    public let kind: Kind
    public let channel: String
    public let payload: String
    /// The server process that sent the notification.
    public let processID: Int
    /// Whether earlier notifications may have been missed, after a reconnect or because the reader was too slow.
    public let mayHaveMissed: Bool
}
