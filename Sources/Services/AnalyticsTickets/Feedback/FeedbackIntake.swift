import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
package import MartletPostgres
import NIOCore

/// Creates tickets from feedback.
package struct FeedbackIntake: Sendable {
    package struct Limits: Sendable {
        /// Maximum per hour and space.
        var inSpace: Int
        /// Maximum per hour and signed-in user.
        var ofUser: Int
        /// Maximum per hour and address of senders who are not signed in. Each instance counts for itself.
        var ofSource: Int

        package init(inSpace: Int = 300, ofUser: Int = 20, ofSource: Int = 30) {
            self.inSpace = inSpace
            self.ofUser = ofUser
            self.ofSource = ofSource
        }
    }

    /// Stands for any user of the app. The actual user is stored only in `ticket_feedback`.
    static let author = Author(text: "client")

    let attachments: AttachmentStore
    let limits: Limits
    let now: @Sendable () -> Date
    private let sources = FeedbackSources()

    init(attachments: AttachmentStore, limits: Limits, now: @escaping @Sendable () -> Date) {
        self.attachments = attachments
        self.limits = limits
        self.now = now
    }

    private var tickets: TicketStore { attachments.tickets }

    /// Creates a ticket of type `feedback` and returns its number. Idempotent by `key`: feedback with a known key
    /// returns the existing ticket.
    ///
    /// - Throws: `FeedbackRefusal` if no ticket was created and retrying now is pointless; otherwise the errors of the
    ///   database and the file storage.
    @discardableResult
    package func store(_ feedback: Feedback, in space: Space) async throws -> Int {
        let checked = try CheckedFeedback(feedback)
        if let number = try await known(feedback.key, in: space) { return number }
        try await checkLimits(checked.user, in: space) { try await tickets.postgres.query($0) }
        if let source = feedback.source, !sources.take(source, in: space, upTo: limits.ofSource, at: now()) {
            throw FeedbackRefusal.tooMany(seconds: 3_600)
        }
        let files = try await store(feedback.files, in: space)
        do {
            // No report is stored during this transaction, so that a report stored later finds this feedback.
            let (number, attached) = try await tickets.change(
                space, by: Self.author, holdingReports: checked.event != nil
            ) { work in
                try await write(feedback, checked, files, work)
            }
            await attachments.discard(files.dropFirst(attached))
            return number
        } catch let refusal as FeedbackRefusal {
            await attachments.discard(files[...])
            throw refusal
        } catch let problem as ServiceError where problem.isCallersFault {
            await attachments.discard(files[...])
            throw problem
        }
    }

    private func known(_ key: String?, in space: Space) async throws -> Int? {
        guard let key else { return nil }
        return try await tickets.postgres.query(Self.knownTicket(key, space)).first?.decode(0)
    }

    private static func knownTicket(_ key: String, _ space: Space) -> PostgresQuery {
        """
        SELECT t.number FROM analytics.ticket_feedback AS f JOIN analytics.tickets AS t ON t.id = f.ticket
        WHERE f.space = \(space.id) AND f.key = \(key)
        """
    }

    // MARK: Limits

    /// Checked before anything is locked or stored, and again under the lock, because other feedback may have been
    /// stored meanwhile.
    private func checkLimits(_ user: UUID?, in space: Space, _ query: (PostgresQuery) async throws -> PostgresRows)
        async throws
    {
        let row = try await query(
            """
            SELECT coalesce((
                    SELECT feedback_count FROM analytics.ticket_spaces WHERE space = \(space.id) AND feedback_hour = date_trunc('hour', now())), 0),
                (SELECT count(*) FROM analytics.ticket_feedback
                    WHERE space = \(space.id) AND user_id = \(user) AND created > now() - interval '1 hour'),
                ceil(extract(epoch FROM date_trunc('hour', now()) + interval '1 hour' - now()))::bigint
            """)[0]
        let seconds: Int = try row.decode(2)
        guard try row.decode(0, as: Int.self) < limits.inSpace, try row.decode(1, as: Int.self) < limits.ofUser else {
            throw FeedbackRefusal.tooMany(seconds: max(1, seconds))
        }
    }

    private func count(_ work: TicketWork) async throws {
        try await work.transaction.execute(
            """
            UPDATE analytics.ticket_spaces SET feedback_hour = date_trunc('hour', now()),
                feedback_count = CASE WHEN feedback_hour = date_trunc('hour', now()) THEN feedback_count ELSE 0 END + 1
            WHERE space = \(work.space.id)
            """)
    }

    // MARK: Writing

    private func store(_ files: [Feedback.File], in space: Space) async throws -> [AttachmentStore.Stored] {
        var stored: [AttachmentStore.Stored] = []
        for (number, file) in files.enumerated() {
            let name = String(
                String.UnicodeScalarView(file.name.unicodeScalars.filter { !TicketInput.isControl($0) }.prefix(200)))
            let portions = AsyncStream<ByteBuffer> { continuation in
                continuation.yield(file.bytes)
                continuation.finish()
            }
            stored.append(
                try await attachments.store(
                    portions, named: name.isEmpty ? "screenshot-\(number + 1)" : name, declaredType: file.contentType,
                    upTo: Feedback.maximumFileInBytes, in: space))
        }
        return stored
    }

    private func write(
        _ feedback: Feedback, _ checked: CheckedFeedback, _ files: [AttachmentStore.Stored], _ work: TicketWork
    ) async throws -> (number: Int, attached: Int) {
        // The same feedback may have arrived another way while the files were stored.
        if let key = feedback.key, let row = try await work.transaction.query(Self.knownTicket(key, work.space)).first {
            return (try row.decode(0), 0)
        }
        try await checkLimits(checked.user, in: work.space) { try await work.transaction.query($0) }
        try await count(work)
        var ticket = NewTicket(title: feedback.title)
        ticket.type = .feedback
        ticket.appVersion = feedback.appVersion
        if let event = checked.event, let report = try await work.report(event) {
            ticket.issues = [report.issue]
            ticket.appVersion = ticket.appVersion ?? report.appVersion
        }
        let (id, number) = try await work.create(ticket, upTo: TicketLimits.ticketsForFeedback)
        try await work.transaction.execute(
            """
            INSERT INTO analytics.ticket_feedback (ticket, space, user_id, name, email, message, event_id, key)
            VALUES (\(id), \(work.space.id), \(checked.user), \(feedback.name ?? ""), \(feedback.email ?? ""), \(feedback.message), \(checked.event),
                \(feedback.key))
            """)
        // Pictures that do not fit are dropped, because text without pictures is better than nothing.
        var attached = 0
        for file in files {
            guard try await work.hasRoom(for: file, upTo: TicketLimits.attachmentsOfFeedbackInBytes) else { break }
            _ = try await work.attach(file, to: id, isFeedback: true)
            attached += 1
        }
        return (number, attached)
    }
}
