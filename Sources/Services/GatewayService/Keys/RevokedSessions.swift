import Foundation
import MartletAPI
import MartletCore

/// Sessions that have ended while an access token of theirs may be good still.
///
/// Holds a limited number. Beyond it none is forgotten: the oldest make way for a time, and every token that runs out by then is refused,
/// whatever its session; whoever is signed in gets a new one by refreshing.
struct RevokedSessions: Sendable, Equatable {
    static let maximumCount = 1_000_000

    /// Session → until when one of its tokens may be good, in seconds since 1970.
    private(set) var sessions: [String: Int64] = [:]
    /// Tokens that run out by then are refused, in seconds since 1970.
    private(set) var cutOff: Int64 = 0
    private let maximumCount: Int

    init(maximumCount: Int = Self.maximumCount) {
        self.maximumCount = maximumCount
    }

    func contains(_ session: String) -> Bool { sessions[session] != nil }

    func refuses(_ token: AccessToken) -> Bool { refuses(token.sessionID, token.expires) }

    func refuses(_ token: StaffToken) -> Bool { refuses(token.sessionID, token.expires) }

    private func refuses(_ session: String, _ expires: Int64) -> Bool { expires <= cutOff || contains(session) }

    /// - Parameter now: in seconds since 1970; what mattered until before is dropped.
    mutating func add(_ news: [String: Int64], cutOff newCutOff: Int64 = 0, at now: Int64) {
        cutOff = max(cutOff, newCutOff)
        sessions.merge(news) { max($0, $1) }
        sessions = sessions.filter { [cutOff] in $0.value >= now && $0.value > cutOff }
        guard sessions.count > maximumCount else { return }
        // A tenth more than has to go, so that it is not done for each.
        let oldest = sessions.values.sorted()[sessions.count - maximumCount + maximumCount / 10 - 1]
        cutOff = oldest
        sessions = sessions.filter { $0.value > oldest }
    }
}
