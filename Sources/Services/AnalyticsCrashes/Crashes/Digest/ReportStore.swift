import Foundation
import MartletPostgres
import MartletSentry

/// Inserts reports as rows.
struct ReportStore: Sendable {
    let transaction: PostgresTransaction

    /// Inserts new reports, whose issues must be locked.
    func insert(_ reports: [DigestStore.Placed]) async throws {
        let all = reports.map(\.report)
        try await transaction.execute(
            """
            INSERT INTO analytics.crash_events (space, event_id, issue, received, at, person, release, level, handled, stage, os, device, configuration,
                variants, message, app_hash, system_hash, algorithm, content)
            SELECT q.space, q.event_id, q.issue, to_timestamp(q.received / 1e6), to_timestamp(q.at / 1e6), q.person, nullif(q.release, 0), q.level,
                q.handled = 1, q.stage, q.os, q.device, q.configuration, q.variants, q.message, decode(q.app_hash, 'hex'), decode(q.system_hash, 'hex'),
                \(Int16(Grouping.version)), q.content::jsonb
            FROM unnest(\(all.map { Int($0.space.id) }), \(all.map(\.eventID)), \(reports.map { Int($0.issue) }), \(all.map(\.received.microseconds)),
                \(all.map(\.at.microseconds)), \(all.map { Int($0.person) }), \(reports.map { Int($0.release?.id ?? 0) }), \(all.map(\.level.rawValue)),
                \(all.map { $0.isHandled ? 1 : 0 }), \(all.map(\.stage)), \(all.map(\.os)), \(all.map(\.device)), \(all.map(\.configuration)),
                \(all.map(\.variants)), \(all.map(\.message)), \(all.map(\.grouping.appHash)), \(all.map(\.grouping.systemHash)), \(all.map(\.content))
                ) AS q (space, event_id, issue, received, at, person, release, level, handled, stage, os, device, configuration, variants, message,
                    app_hash, system_hash, content)
            """)
    }
}

extension DigestStore {
    /// Counts what did not become a report.
    func count(_ envelopes: [DigestedEnvelope], _ transaction: PostgresTransaction) async throws {
        struct Key: Hashable {
            var space: Int32
            var day: Int
            var outcome: DigestedOutcome
        }
        var counts: [Key: Int] = [:]
        for envelope in envelopes {
            for var outcome in envelope.outcomes {
                let quantity = outcome.quantity
                outcome.quantity = 0
                counts[Key(space: envelope.space.id, day: envelope.received.day, outcome: outcome), default: 0] +=
                    quantity
            }
        }
        guard !counts.isEmpty else { return }
        let keys = Array(counts.keys)
        try await transaction.execute(
            """
            INSERT INTO analytics.crash_outcomes AS o (space, day, source, category, reason, quantity)
            SELECT q.space, date '1970-01-01' + q.day::integer, q.source, q.category, q.reason, q.quantity
            FROM unnest(\(keys.map { Int($0.space) }), \(keys.map(\.day)), \(keys.map(\.outcome.source.rawValue)), \(keys.map(\.outcome.category.rawValue)),
                \(keys.map(\.outcome.reason)), \(keys.map { counts[$0] ?? 0 })) AS q (space, day, source, category, reason, quantity)
            ON CONFLICT (space, day, source, category, reason) DO UPDATE SET quantity = o.quantity + EXCLUDED.quantity
            """)
    }

    /// Stores feedback on reports, to be shown with them. Other feedback is only in its ticket.
    func store(feedback envelopes: [DigestedEnvelope], _ transaction: PostgresTransaction) async throws {
        let all = envelopes.flatMap { envelope in
            envelope.feedback.compactMap { feedback in
                feedback.userFeedback.eventID.map { (envelope: envelope, feedback: feedback.userFeedback, eventID: $0) }
            }
        }
        guard !all.isEmpty else { return }
        try await transaction.execute(
            """
            INSERT INTO analytics.crash_feedback (space, feedback_id, event_id, name, email, message, received)
            SELECT q.space, q.feedback_id, q.event_id, q.name, q.email, q.message, to_timestamp(q.received / 1e6)
            FROM unnest(\(all.map { Int($0.envelope.space.id) }), \(all.map(\.feedback.id)), \(all.map(\.eventID)),
                \(all.map(\.feedback.name)), \(all.map(\.feedback.email)), \(all.map(\.feedback.message)), \(all.map(\.envelope.received.microseconds)))
                AS q (space, feedback_id, event_id, name, email, message, received)
            ON CONFLICT (space, feedback_id) DO NOTHING
            """)
    }

    func store(attachments envelopes: [DigestedEnvelope], _ transaction: PostgresTransaction) async throws {
        let all = envelopes.flatMap { envelope in envelope.attachments.map { (envelope: envelope, attachment: $0) } }
        guard !all.isEmpty else { return }
        try await transaction.execute(
            """
            INSERT INTO analytics.crash_attachments (space, event_id, blob, name, content_type, kind, size, received)
            SELECT q.space, q.event_id, q.blob, q.name, q.content_type, q.kind, q.size, to_timestamp(q.received / 1e6)
            FROM unnest(\(all.map { Int($0.envelope.space.id) }), \(all.map(\.attachment.eventID)), \(all.map(\.attachment.blob)),
                \(all.map(\.attachment.name)), \(all.map(\.attachment.contentType)), \(all.map(\.attachment.kind)),
                \(all.map(\.attachment.sizeInBytes)), \(all.map(\.envelope.received.microseconds)))
                AS q (space, event_id, blob, name, content_type, kind, size, received)
            ON CONFLICT (blob) DO NOTHING
            """)
    }
}
