import Foundation
import MartletAPI
import MartletCore

/// Ended sessions that may still have valid access tokens.
///
/// The number is limited, but no session is forgotten early. When the limit is exceeded, the oldest entries are
/// replaced by a cut-off time, and every token that expires by then is refused, whatever its session. Signed-in clients
/// get a new token by refreshing.
struct RevokedSessions: Sendable, Equatable {
    static let maximumCount = 1_000_000

    /// Session → latest expiry of its tokens, in seconds since 1970.
    private(set) var sessions: [String: Int64] = [:]
    /// Tokens that expire at or before this time are refused. Seconds since 1970.
    private(set) var cutOff: Int64 = 0
    private let maximumCount: Int

    init(maximumCount: Int = Self.maximumCount) {
        self.maximumCount = maximumCount
    }

    func contains(_ session: String) -> Bool { sessions[session] != nil }

    func refuses(_ token: AccessToken) -> Bool { refuses(token.sessionID, token.expires) }

    func refuses(_ token: StaffToken) -> Bool { refuses(token.sessionID, token.expires) }

    private func refuses(_ session: String, _ expires: Int64) -> Bool { expires <= cutOff || contains(session) }

    /// - Parameter now: Seconds since 1970; entries that expired earlier are dropped.
    mutating func add(_ update: [String: Int64], cutOff newCutOff: Int64 = 0, at now: Int64) {
        cutOff = max(cutOff, newCutOff)
        sessions.merge(update) { max($0, $1) }
        sessions = sessions.filter { [cutOff] in $0.value >= now && $0.value > cutOff }
        guard sessions.count > maximumCount else { return }
        // Removes a tenth more than necessary, so that this does not happen for every session.
        let oldest = sessions.values.sorted()[sessions.count - maximumCount + maximumCount / 10 - 1]
        cutOff = oldest
        sessions = sessions.filter { $0.value > oldest }
    }
}
