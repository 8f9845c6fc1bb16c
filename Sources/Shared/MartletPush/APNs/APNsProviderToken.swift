import Foundation
import MartletCore
import Synchronization

/// The provider token of a key, one for all connections in both environments.
///
/// APNs refuses tokens older than an hour, and those who change theirs more often than every 20 minutes. So time is cut into 40 minutes, for
/// everybody alike, and a token is as if issued at the start of the present ones: it is never older than that, and copies and restarts of a process
/// make tokens of the same time.
final class APNsProviderToken: Sendable {
    static let period: Int64 = 40 * 60
    /// What APNs wants between two tokens.
    static let minimumAge: Duration = .seconds(20 * 60)

    private let key: APNsKey
    private let latest = Mutex<(issued: Int64, text: String)?>(nil)

    init(_ key: APNsKey) {
        self.key = key
    }

    func text(at now: Date) throws -> String {
        let seconds = Int64(now.secondsSince1970)
        let issued = seconds - seconds % Self.period
        return try latest.withLock { latest in
            if let latest, latest.issued == issued { return latest.text }
            let text = try key.token(issued: issued)
            latest = (issued, text)
            return text
        }
    }
}
