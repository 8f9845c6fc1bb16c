import Foundation
import MartletCore
import Synchronization

/// The provider token of a key, shared by all connections in both environments.
///
/// APNs refuses tokens older than an hour, and senders that change their token more often than every 20 minutes. Time
/// is therefore divided into periods of 40 minutes, the same in all processes, and a token's time of issue is the start
/// of the current period. No token is older than 40 minutes, and all copies and restarts of a process make tokens with
/// the same time of issue. A token that was first used late in its period is kept for 20 minutes, into the next.
///
/// If APNs still calls a token expired because this machine's clock is slow, a new token is issued at once, and the
/// periods start at that time.
final class APNsProviderToken: Sendable {
    static let period: Int64 = 40 * 60
    /// The minimum time that APNs requires between two tokens.
    static let minimumAge: Duration = .seconds(20 * 60)

    private let key: APNsKey
    private let state = Mutex(State())

    private struct State {
        var latest: (issued: Int64, firstUse: Int64, text: String)?
        /// The start of the periods; 1970 unless a token was renewed early.
        var start: Int64 = 0
    }

    init(_ key: APNsKey) {
        self.key = key
    }

    func text(at now: Date) throws -> String {
        let seconds = Int64(now.secondsSince1970)
        return try state.withLock { state in
            // The clock was set back.
            if seconds < state.start { state.start = 0 }
            let issued = seconds - (seconds - state.start) % Self.period
            if let latest = state.latest {
                let use = seconds - latest.firstUse
                if latest.issued == issued || (0..<Self.minimumAge.components.seconds).contains(use) {
                    return latest.text
                }
            }
            let text = try key.token(issued: issued)
            state.latest = (issued, seconds, text)
            return text
        }
    }

    /// Issues a new token after APNs has called one expired, unless that would be too early.
    ///
    /// - Returns: Whether there is a newer token to send with.
    func renew(_ expired: String, at now: Date) -> Bool {
        let seconds = Int64(now.secondsSince1970)
        return state.withLock { state in
            guard let latest = state.latest, latest.text == expired else { return true }
            guard seconds - latest.issued >= Self.minimumAge.components.seconds else { return false }
            state.start = seconds
            state.latest = nil
            return true
        }
    }
}
