/// Sessions that have ended, but whose access tokens may still be valid.
///
/// Wire shape of `GET /internal/revocations`.
public struct Revocations: Codable, Sendable, Equatable {
    /// The position from which to request the next revocations.
    public var last: Int64
    /// Session id → time at which its last token expires, in seconds since 1970.
    public var sessions: [String: Int64]
    /// Set if there were too many revocations to list: every token that expires by this time, in seconds since 1970,
    /// must be refused, whatever its session.
    public var cutOff: Int64?

    public init(last: Int64, sessions: [String: Int64], cutOff: Int64? = nil) {
        self.last = last
        self.sessions = sessions
        self.cutOff = cutOff
    }
}
