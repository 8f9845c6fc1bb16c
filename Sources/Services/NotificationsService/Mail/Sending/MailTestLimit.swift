import HTTPTypes
import MartletAPI
import MartletCore
import MartletPostgres
import Synchronization

/// Limits the test mails of an app per instance, because they bypass the limits of other mail.
final class MailTestLimit: Sendable {
    static let maximumPerMinute = 5

    private let begun = Mutex<[Int32: [ContinuousClock.Instant]]>([:])

    /// Counts one test mail.
    ///
    /// - Throws: `too-many-requests`.
    func take(in space: Space) throws {
        let now = ContinuousClock.now
        let isFree = begun.withLock { begun in
            var recent = begun[space.id, default: []].filter { now - $0 < .seconds(60) }
            defer { begun[space.id] = recent }
            guard recent.count < Self.maximumPerMinute else { return false }
            recent.append(now)
            return true
        }
        guard isFree else {
            throw ServiceError(
                .tooManyRequests, "An app may send at most \(Self.maximumPerMinute) test mails per minute.",
                retryAfter: 60)
        }
    }
}
