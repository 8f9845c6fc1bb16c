/// Sessions that ended while an access token of theirs may be good still.
///
/// Wire shape of `GET /internal/revocations`.
public struct Revocations: Codable, Sendable, Equatable {
    /// What to ask for the next ones with.
    public var last: Int64
    /// Session id → seconds since 1970 from when on its last token has run out anyway.
    public var sessions: [String: Int64]
    /// There were more than can be told: every token that runs out by then, in seconds since 1970, is to be refused,
    /// whatever its session.
    public var cutOff: Int64?

    public init(last: Int64, sessions: [String: Int64], cutOff: Int64? = nil) {
        self.last = last
        self.sessions = sessions
        self.cutOff = cutOff
    }
}
