import Foundation
import MartletCore
import MartletMail
import MartletPostgres

/// A claimed mail, to be written now.
struct QueuedMail: Sendable {
    static let maximumAttempts = 10

    var id: UUID
    /// Nil when the mail goes to `address`.
    var user: String?
    var address: String?
    var topic: String?
    /// Nil when it was encrypted under another internal secret.
    var content: MailContent?
    /// The number of attempts, including this one.
    var attempts: Int

    var isLastAttempt: Bool { attempts >= Self.maximumAttempts }
}

/// The statements of the mail sender.
extension MailStore {
    /// Spaces that have due mail but no job.
    func waitingSpaces(limit: Int, job kind: String) async throws -> [Int32] {
        try await postgres.query(
            """
            SELECT s.id FROM notifications.spaces AS s
            WHERE EXISTS (SELECT FROM notifications.mails AS m WHERE m.space = s.id AND m.state = 'queued' AND m.due <= now())
                AND NOT EXISTS (SELECT FROM notifications.jobs AS j WHERE j.kind = \(kind) AND j.unique_key = s.id::text AND j.finished IS NULL)
            LIMIT \(limit)
            """
        ).map { try $0.decode(0) }
    }

    func isAnyDue(in space: Space) async throws -> Bool {
        try await !postgres.query(
            "SELECT FROM notifications.mails WHERE space = \(space.id) AND state = 'queued' AND due <= now() LIMIT 1"
        ).isEmpty
    }

    /// Claims the mail that has been due the longest, and counts the attempt. The mail becomes due again after a delay
    /// that doubles from 15 seconds to an hour, whatever happens. Until then no other instance claims it, and the mail
    /// is not lost if the process dies.
    ///
    /// - Returns: Nil if nothing is due.
    func claim(in space: Space) async throws -> QueuedMail? {
        try await postgres.query(
            """
            UPDATE notifications.mails AS m SET attempts = m.attempts + 1,
                due = now() + make_interval(secs => least(3600, 15 * power(2::float8, least(m.attempts, 10))) * (0.9 + 0.2 * random()))
            WHERE m.id = (
                SELECT id FROM notifications.mails WHERE space = \(space.id) AND state = 'queued' AND due <= now()
                ORDER BY due, id LIMIT 1 FOR UPDATE SKIP LOCKED)
            RETURNING m.id, m.user_id, m.address, m.topic, m.content, m.attempts
            """
        ).first.map { row in
            let id: UUID = try row.decode(0)
            return QueuedMail(
                id: id, user: try row.decode(1), address: try row.decode(2), topic: try row.decode(3),
                content: sealing.value(in: try row.decode(4), for: Self.label(id)), attempts: try row.decode(5))
        }
    }

    /// Returns the mail to the queue without counting the attempt; it is due again after `delay`.
    func release(_ mail: QueuedMail, reason: String, for delay: Duration) async throws {
        try await postgres.execute(
            """
            UPDATE notifications.mails SET attempts = attempts - 1, reason = \(reason), due = now() + make_interval(secs => \(Double(delay.components.seconds)))
            WHERE id = \(mail.id) AND state = 'queued' AND attempts = \(Int32(mail.attempts))
            """)
    }

    /// Stores the address that a mail goes to.
    ///
    /// - Returns: How many mails the address got from the app in the last hour; nil if the mail is no longer queued.
    func begin(_ mail: QueuedMail, to address: String, in space: Space) async throws -> Int? {
        try await postgres.query(
            """
            UPDATE notifications.mails SET address = \(address) WHERE id = \(mail.id) AND state = 'queued'
            RETURNING (SELECT count(*) FROM notifications.mails AS o
                WHERE o.space = \(space.id) AND o.address = \(address) AND o.state = 'sent' AND o.finished > now() - interval '1 hour')
            """
        ).first?.decode(0)
    }

    /// Ends a mail and deletes its content. Does nothing if the mail has already ended.
    func finish(_ id: UUID, _ end: End, reason: String? = nil) async throws {
        try await postgres.execute(
            """
            UPDATE notifications.mails SET state = \(end.rawValue), reason = \(reason), content = NULL, finished = now()
            WHERE id = \(id) AND state = 'queued'
            """)
    }

    /// Stores why a mail is being retried.
    func record(_ id: UUID, reason: String) async throws {
        try await postgres.execute(
            "UPDATE notifications.mails SET reason = \(reason) WHERE id = \(id) AND state = 'queued'")
    }

    // MARK: Afterwards

    /// Records a bounce. A final bounce is not overwritten by a soft one.
    ///
    /// - Returns: The recipient; nil if there is no such mail, or if it has not been sent to an address yet.
    func record(_ kind: BounceKind, reason: String?, of id: UUID, in space: Space) async throws -> (
        address: String, user: String?
    )? {
        try await postgres.query(
            """
            UPDATE notifications.mails AS m SET bounced = now(),
                bounce = CASE WHEN \(kind.isFinal) OR m.bounce IS NULL THEN \(kind.rawValue) ELSE m.bounce END,
                bounce_reason = CASE WHEN \(kind.isFinal) OR m.bounce IS NULL THEN \(reason) ELSE m.bounce_reason END
            WHERE m.space = \(space.id) AND m.id = \(id) AND m.address IS NOT NULL AND m.attempts > 0
            RETURNING m.address, m.user_id
            """
        ).first.map { (try $0.decode(0), try $0.decode(1)) }
    }

    /// Deletes all mail, in whatever state, that was requested for an address and not for a user.
    ///
    /// - Returns: The number of mails; `limit` means that there may be more.
    func erase(_ address: String, limit: Int, in space: Space) async throws -> Int {
        try await postgres.execute(
            """
            DELETE FROM notifications.mails WHERE id IN (
                SELECT id FROM notifications.mails WHERE space = \(space.id) AND address = \(address) AND user_id IS NULL LIMIT \(limit))
            """)
    }
}
