import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres
import NIOCore

/// Makes tickets of feedback.
struct FeedbackIntake: Sendable {
    struct Limits: Sendable {
        /// In an hour, from everybody together.
        var inSpace = 300
        /// The same, from one signed-in user.
        var ofUser = 20
        /// The same, from one address without a user, counted by each copy of the service.
        var ofSource = 30
    }

    /// Whoever uses the app; who it is stands in `ticket_feedback` only.
    static let author = Author(text: "client")

    let attachments: AttachmentStore
    let limits: Limits
    private let sources = FeedbackSources()

    init(attachments: AttachmentStore, limits: Limits) {
        self.attachments = attachments
        self.limits = limits
    }

    private var tickets: TicketStore { attachments.tickets }

    /// Makes a ticket of type `feedback`; answers its number. What has the `key` of something that came before is taken as said already.
    ///
    /// - Throws: `FeedbackRefusal`: there is no ticket then, and sending it again is of no use (now). Otherwise as database and files.
    @discardableResult
    func store(_ feedback: Feedback, in space: Space) async throws -> Int {
        let checked = try Checked(feedback)
        if let number = try await known(feedback.key, in: space) { return number }
        try await checkLimits(checked.user, in: space)
        if let source = feedback.source, !sources.take(source, in: space, upTo: limits.ofSource, at: Date()) { throw FeedbackRefusal.tooMany(seconds: 3_600) }
        let files = try await store(feedback.files, in: space)
        let (number, attached) = try await tickets.change(space, by: Self.author) { work in
            try await write(feedback, checked, files, work)
        }
        for file in files.dropFirst(attached) { try? await attachments.files.remove(file.blob) }
        return number
    }

    /// Attaches the issues of crash reports to the tickets of feedback that came before them.
    func join(_ events: [UUID], in space: Space) async throws {
        let missing: PostgresQuery = """
            SELECT DISTINCT f.ticket, i.number FROM analytics.ticket_feedback AS f
            JOIN analytics.crash_events AS e ON e.space = f.space AND e.event_id = f.event_id
            JOIN analytics.issues AS i ON i.id = e.issue AND i.deleted IS NULL
            WHERE f.space = \(space.id) AND f.event_id = ANY (\(events))
                AND NOT EXISTS (SELECT FROM analytics.ticket_issues AS a WHERE a.ticket = f.ticket AND a.issue = i.id)
            """
        // Nothing is locked for the many reports that nobody said anything of.
        guard try await !tickets.postgres.query(missing).isEmpty else { return }
        try await tickets.change(space, by: Self.author) { work in
            for row in try await work.transaction.query(missing) {
                let ticket: Int64 = try row.decode(0)
                try await work.attach(issues: [try row.decode(1)], to: ticket)
                try await work.touch(ticket)
            }
        }
    }

    private struct Checked {
        let user: UUID?
        let event: UUID?

        init(_ feedback: Feedback) throws {
            func check(_ isGood: Bool, _ field: String, _ reason: String) throws {
                if !isGood { throw FeedbackRefusal.invalid(field: field, reason: reason) }
            }
            try check((1...Feedback.maximumMessage).contains(feedback.message.unicodeScalars.count), "message", "This has 1 to \(Feedback.maximumMessage) characters.")
            for (field, text, limit) in [
                ("message", feedback.message, Feedback.maximumMessage), ("name", feedback.name ?? "", 200), ("email", feedback.email ?? "", 254),
                ("appVersion", feedback.appVersion ?? "-", 64), ("key", feedback.key ?? "-", 100),
            ] {
                try check(text.unicodeScalars.count <= limit, field, "This has at most \(limit) characters.")
                try check(!text.unicodeScalars.contains { TicketInput.isControl($0) && !["\n", "\r", "\t"].contains($0) }, field, "This has no control characters.")
            }
            try check(feedback.appVersion != "" && feedback.key != "", "appVersion", "This must not be empty.")
            user = feedback.userID.flatMap { UUID(uuidString: $0) }
            try check(feedback.userID == nil || user != nil, "user", "This is no user's id.")
            event = feedback.eventID.flatMap(Feedback.uuid)
            try check(feedback.eventID == nil || event != nil, "eventId", "This is an event's id: 32 hexadecimal digits.")
            try check(feedback.files.count <= Feedback.maximumFiles, "files", "There are at most \(Feedback.maximumFiles) files.")
            for file in feedback.files {
                try check(file.bytes.readableBytes <= Feedback.maximumFileInBytes, "screenshot", "A picture has at most \(Feedback.maximumFileInBytes) bytes.")
                let prefix = Array(file.bytes.readableBytesView.prefix(512))
                try check(ContentType.isPicture(ContentType.decide(declared: nil, prefix: prefix)), "screenshot", "This is no picture.")
            }
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

    /// Before anything is locked or stored.
    private func checkLimits(_ user: UUID?, in space: Space) async throws {
        let row = try await tickets.postgres.query(
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
        let count: Int = try await work.transaction.query(
            """
            UPDATE analytics.ticket_spaces SET feedback_hour = date_trunc('hour', now()),
                feedback_count = CASE WHEN feedback_hour = date_trunc('hour', now()) THEN feedback_count ELSE 0 END + 1
            WHERE space = \(work.space.id) RETURNING feedback_count
            """)[0].decode(0)
        guard count <= limits.inSpace else { throw FeedbackRefusal.tooMany(seconds: 60) }
    }

    // MARK: Writing

    private func store(_ files: [Feedback.File], in space: Space) async throws -> [AttachmentStore.Stored] {
        var stored: [AttachmentStore.Stored] = []
        for (number, file) in files.enumerated() {
            let name = String(String.UnicodeScalarView(file.name.unicodeScalars.filter { !TicketInput.isControl($0) }.prefix(200)))
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
        _ feedback: Feedback, _ checked: Checked, _ files: [AttachmentStore.Stored], _ work: TicketWork
    ) async throws -> (number: Int, attached: Int) {
        // The same came by another way while the files were stored.
        if let key = feedback.key, let row = try await work.transaction.query(Self.knownTicket(key, work.space)).first { return (try row.decode(0), 0) }
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
        // Words without their pictures are better than none.
        var attached = 0
        for file in files where try await work.hasRoom(for: file, upTo: TicketLimits.attachmentsOfFeedbackInBytes) {
            _ = try await work.attach(file, to: id, isFeedback: true)
            attached += 1
        }
        return (number, attached)
    }
}

extension TicketWork {
    /// The number of the issue that a crash report was counted to, and the version it came from; nil where it has not come yet.
    fileprivate func report(_ event: UUID) async throws -> (issue: Int, appVersion: String?)? {
        try await transaction.query(
            """
            SELECT i.number, nullif(left(r.version, 64), '') FROM analytics.crash_events AS e JOIN analytics.issues AS i ON i.id = e.issue
            LEFT JOIN analytics.releases AS r ON r.id = e.release
            WHERE e.space = \(space.id) AND e.event_id = \(event) AND i.deleted IS NULL
            """
        ).first.map { (try $0.decode(0), try $0.decode(1)) }
    }
}
