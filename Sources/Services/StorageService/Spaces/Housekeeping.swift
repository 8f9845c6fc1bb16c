import Logging
import MartletBackground
import MartletPostgres

/// Deletes expired data in every space: changes after the retention period, answers to idempotency keys after a day,
/// the file history after its own period, and the remains of users' documents after a day.
///
/// Runs in every copy of the service; rows that another copy has deleted are simply missing. Works in small batches, so
/// that no statement takes long.
struct Housekeeping: PeriodicWork {
    let interval: Duration = .seconds(600)
    static let batch = 1_000
    private static let maximumBatches = 1_000
    /// The last script that creates one of the tables below. Spaces at an earlier version are skipped; the next use of
    /// a space runs its missing scripts.
    private static let neededVersion = 4
    /// The script that creates `_User`.
    private static let versionWithUsers = 22
    /// The script that creates invitations.
    private static let versionWithGroups = 23
    /// The script that creates reports.
    private static let versionWithReports = 24

    let postgres: PostgresClient
    let logger: Logger
    /// The retention period of the change log.
    let retentionInDays: Int
    /// The retention period of the history of uploads.
    var fileHistoryInDays = 365

    func work() async throws { try await sweep() }

    /// Cleans up every space. An error in one space is logged and does not affect the others.
    func sweep() async throws {
        let schemas: [(name: String, version: Int)] = try await postgres.query(
            "SELECT schema, version FROM storage.spaces WHERE version >= \(Self.neededVersion) ORDER BY schema"
        ).map { (try $0.decode(0), try $0.decode(1)) }
        for (schema, version) in schemas where !Task.isCancelled {
            do {
                try await sweep(schema)
                if version >= Self.versionWithUsers { try await sweepUsers(schema) }
                if version >= Self.versionWithGroups { try await sweepInvitations(schema) }
                if version >= Self.versionWithReports { try await sweepReports(schema) }
            } catch {
                logger.error(
                    "Could not clean up a space; retrying in the next pass.",
                    metadata: ["storage.schema": "\(schema)", "error.cause": "\(error)"])
            }
        }
    }

    private func sweep(_ schema: String) async throws {
        guard let role = PostgresIdentifier(schema), let changes = PostgresIdentifier(schema: schema, name: "_changes"),
            let collections = PostgresIdentifier(schema: schema, name: "_collections"),
            let keys = PostgresIdentifier(schema: schema, name: "_idempotency"),
            let floor = PostgresIdentifier(schema: schema, name: "_changes_floor"),
            let uploads = PostgresIdentifier(schema: schema, name: "_uploads")
        else { return }
        // The oldest changes of each collection, found by the index; no others are read.
        try await delete(
            """
            WITH gone AS (
                DELETE FROM \(changes) WHERE ctid = ANY (ARRAY(
                    SELECT oldest.row FROM \(collections) AS c, LATERAL (
                        SELECT ctid AS row, at FROM \(changes) WHERE collection = c.name ORDER BY txid, seq LIMIT \(Self.batch)) AS oldest
                    WHERE at < now() - make_interval(days => \(Int32(retentionInDays)))))
                RETURNING collection, txid),
            -- Cursors from before these changes are refused from now on.
            raised AS (
                INSERT INTO \(floor) AS f (collection, txid)
                SELECT DISTINCT ON (collection) collection, txid FROM gone ORDER BY collection, txid DESC
                ON CONFLICT (collection) DO UPDATE SET txid = excluded.txid WHERE f.txid < excluded.txid)
            SELECT FROM gone
            """, role)
        try await delete(
            """
            DELETE FROM \(keys) WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM \(keys)
                WHERE created < now() - make_interval(secs => \(Double(Idempotency.retentionInSeconds)))
                LIMIT \(Self.batch)))
            """, role)
        try await delete(
            """
            DELETE FROM \(uploads) WHERE id = ANY (ARRAY(
                SELECT id FROM (SELECT id, at FROM \(uploads) ORDER BY id LIMIT \(Self.batch)) AS oldest
                WHERE at < now() - make_interval(days => \(Int32(fileHistoryInDays)))))
            """, role)
    }

    /// Deletes what is left of users who were deleted.
    private func sweepUsers(_ schema: String) async throws {
        guard let role = PostgresIdentifier(schema),
            let users = PostgresIdentifier(schema: schema, name: CollectionName.users.text)
        else { return }
        try await delete(
            """
            DELETE FROM \(users) WHERE id = ANY (ARRAY(
                SELECT id FROM \(users) WHERE deleted < now() - make_interval(hours => \(UserDocumentStore.retentionInHours))
                ORDER BY deleted LIMIT \(Self.batch)))
            """, role)
    }

    private func sweepInvitations(_ schema: String) async throws {
        guard let role = PostgresIdentifier(schema),
            let invitations = PostgresIdentifier(schema: schema, name: "_role_invitations"),
            let guesses = PostgresIdentifier(schema: schema, name: "_role_guesses")
        else { return }
        try await delete(
            """
            DELETE FROM \(invitations) WHERE id = ANY (ARRAY(SELECT id FROM \(invitations) WHERE expires < now() LIMIT \(Self.batch)))
            """, role)
        try await delete(
            """
            DELETE FROM \(guesses) WHERE member = ANY (ARRAY(
                SELECT member FROM \(guesses) WHERE since < now() - interval '1 day' LIMIT \(Self.batch)))
            """, role)
    }

    private func sweepReports(_ schema: String) async throws {
        guard let role = PostgresIdentifier(schema), let reports = PostgresIdentifier(schema: schema, name: "_reports")
        else { return }
        try await delete(
            """
            DELETE FROM \(reports) WHERE id = ANY (ARRAY(
                SELECT id FROM \(reports)
                WHERE resolved < now() - make_interval(days => \(ReportStore.retentionInDays)) LIMIT \(Self.batch)))
            """, role)
    }

    private func delete(_ statement: PostgresQuery, _ role: PostgresIdentifier) async throws {
        var statement = statement
        statement.role = role
        for _ in 0..<Self.maximumBatches where try await postgres.execute(statement) == 0 { return }
    }
}
