import Foundation
import MartletCore
import Synchronization

/// The provider token of a key, one for all connections in both environments.
///
/// APNs refuses tokens older than an hour, and those who change theirs more often than every 20 minutes. So time is cut
/// into 40 minutes, for everybody alike, and a token is as if issued at the start of the present ones: it is never
/// older than that, and copies and restarts of a process make tokens of the same time.
///
/// Should APNs call one expired all the same, because this machine's clock is behind, the next is issued at once, and
/// the 40 minutes begin there.
final class APNsProviderToken: Sendable {
    static let period: Int64 = 40 * 60
    /// What APNs wants between two tokens.
    static let minimumAge: Duration = .seconds(20 * 60)

    private let key: APNsKey
    private let state = Mutex(State())

    private struct State {
        var latest: (issued: Int64, text: String)?
        /// When the 40 minutes begin; everybody's begin in 1970.
        var start: Int64 = 0
    }

    init(_ key: APNsKey) {
        self.key = key
    }

    func text(at now: Date) throws -> String {
        let seconds = Int64(now.secondsSince1970)
        return try state.withLock { state in
            // A clock that was put back.
            if seconds < state.start { state.start = 0 }
            let issued = seconds - (seconds - state.start) % Self.period
            if let latest = state.latest, latest.issued == issued { return latest.text }
            let text = try key.token(issued: issued)
            state.latest = (issued, text)
            return text
        }
    }

    /// APNs says that a token has expired: the next one is issued now, unless that would be too often.
    ///
    /// - Returns: whether there is another one to send with.
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
