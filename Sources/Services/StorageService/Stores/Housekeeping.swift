import Logging
import MartletPostgres
import ServiceLifecycle

/// Takes away what is past its time, in every space: changes after the retention, answers to idempotency keys after a day.
///
/// Every copy of the service does it; what another has deleted is simply not there. Small batches, so that no statement is long.
struct Housekeeping: Service {
    static let interval: Duration = .seconds(600)
    static let batch = 1_000
    private static let maximumBatches = 1_000

    let postgres: PostgresClient
    let logger: Logger
    /// How long changes are kept.
    let retentionInDays: Int

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.interval * Double.random(in: 0.8...1.2))
                guard !Task.isCancelled else { return }
                do {
                    try await sweep()
                } catch {
                    logger.error("housekeeping failed", metadata: ["error": "\(error)"])
                }
            }
        }
    }

    func sweep() async throws {
        let schemas = try await postgres.query("SELECT schema FROM storage.spaces ORDER BY schema").map { try $0.decode(0, as: String.self) }
        for schema in schemas {
            guard let role = PostgresIdentifier(schema), let changes = PostgresIdentifier(schema: schema, name: "_changes"),
                let collections = PostgresIdentifier(schema: schema, name: "_collections"),
                let keys = PostgresIdentifier(schema: schema, name: "_idempotency"),
                let floor = PostgresIdentifier(schema: schema, name: "_changes_floor")
            else { continue }
            // The oldest of each collection, by the index: nothing else is looked at.
            try await delete(
                """
                WITH gone AS (
                    DELETE FROM \(changes) WHERE ctid = ANY (ARRAY(
                        SELECT oldest.row FROM \(collections) AS c, LATERAL (
                            SELECT ctid AS row, at FROM \(changes) WHERE collection = c.name ORDER BY txid, seq LIMIT \(Self.batch)) AS oldest
                        WHERE at < now() - make_interval(days => \(Int32(retentionInDays)))))
                    RETURNING collection, txid),
                -- Cursors from before these are refused from now on.
                raised AS (
                    INSERT INTO \(floor) AS f (collection, txid)
                    SELECT DISTINCT ON (collection) collection, txid FROM gone ORDER BY collection, txid DESC
                    ON CONFLICT (collection) DO UPDATE SET txid = excluded.txid WHERE f.txid < excluded.txid)
                SELECT FROM gone
                """, role)
            try await delete(
                """
                DELETE FROM \(keys) WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM \(keys) WHERE created < now() - make_interval(secs => \(Double(Idempotency.keptSeconds))) LIMIT \(Self.batch)))
                """, role)
        }
    }

    private func delete(_ statement: PostgresQuery, _ role: PostgresIdentifier) async throws {
        var statement = statement
        statement.role = role
        for _ in 0..<Self.maximumBatches where try await postgres.execute(statement) == 0 { return }
    }
}
