import Crypto
import Foundation
import MartletPostgres

/// Hourly counts of mails, shared by all instances of the service.
struct MailCountStore: Sendable {
    let postgres: PostgresClient

    /// Counts one more mail of the subject. Returns false if the subject has reached `limit` in this hour.
    ///
    /// - Parameter subject: What the mail counts for, such as a recipient or an app, as parts of a key.
    func admit(_ subject: [String], limit: Int) async throws -> Bool {
        let key = Data(SHA256.hash(data: Data(subject.joined(separator: "\u{0}").utf8)))
        return try await postgres.execute(
            """
            INSERT INTO auth.mail_counts AS c (key, hour, count)
            SELECT \(key), date_trunc('hour', now()), 1 WHERE \(limit) > 0
            ON CONFLICT (key, hour) DO UPDATE SET count = c.count + 1 WHERE c.count < \(limit)
            """) > 0
    }
}
