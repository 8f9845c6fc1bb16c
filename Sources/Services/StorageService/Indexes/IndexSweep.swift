import Logging
import MartletBackground
import MartletPostgres

/// Drops half-built indexes whose process was killed before its job was cancelled or failed.
struct IndexSweep: PeriodicWork {
    let interval: Duration = .seconds(600)
    private static let perRound = 100

    let postgres: PostgresClient
    let builder: PostgresClient
    let logger: Logger

    func work() async throws {
        // Without a comment, an index requested by an app was never ready. Without an unfinished job, no one will
        // complete it.
        let rows = try await postgres.query(
            """
            SELECT n.nspname::text, i.relname::text
            FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid JOIN pg_namespace AS n ON n.oid = i.relnamespace
                JOIN storage.spaces AS s ON s.schema = n.nspname
            WHERE (i.relname ~ \("^\(IndexName.jobPrefix)[0-9a-f]{32}$") AND obj_description(i.oid, 'pg_class') IS NULL
                    OR i.relname ~ \("^\(IndexName.listedPrefix)[0-9a-f]{32}$") AND NOT x.indisvalid)
                AND NOT EXISTS (
                    SELECT FROM pg_stat_progress_create_index AS p
                    WHERE p.index_relid = i.oid AND p.datname = current_database())
                AND NOT EXISTS (
                    SELECT FROM storage.index_builds AS b JOIN storage.jobs AS j ON j.id = b.job
                    WHERE b.schema = n.nspname AND b.relation = i.relname AND j.finished IS NULL)
                AND NOT EXISTS (
                    SELECT FROM storage.jobs AS j WHERE replace(j.id::text, '-', '') = substr(i.relname, 3) AND j.finished IS NULL)
            LIMIT \(Self.perRound)
            """)
        for row in rows where !Task.isCancelled {
            guard let space = AppSchema(schema: try row.decode(0)) else { continue }
            try await ConcurrentIndex.drop(IndexName(text: try row.decode(1)), of: space, on: builder)
            logger.notice("Dropped a half-built index.", metadata: ["storage.schema": "\(space.schema)"])
        }
    }
}
