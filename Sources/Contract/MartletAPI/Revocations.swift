/// Sessions that ended while an access token of theirs may be good still.
///
/// Wire shape of `GET /internal/revocations`.
public struct Revocations: Codable, Sendable, Equatable {
    /// What to ask for the next ones with.
    public var last: Int64
    /// Session id → seconds since 1970 from when on its last token has run out anyway.
    public var sessions: [String: Int64]

    public init(last: Int64, sessions: [String: Int64]) {
        self.last = last
        self.sessions = sessions
    }
}
