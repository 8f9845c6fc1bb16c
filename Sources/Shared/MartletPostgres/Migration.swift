import MartletCore

/// One numbered step of a schema. Never edited after its release; changes need a new step.
public struct Migration: Sendable {
    public let number: Int
    public let name: String
    /// One or more statements.
    let sql: String

    public init(number: Int, name: String, sql: [UInt8]) {
        self.number = number
        self.name = name
        self.sql = String(decoding: sql, as: UTF8.self)
    }

    var digest: String {
        Credential.hexDigest(of: sql)
    }
}

/// The reason why a schema could not be migrated. Nothing was changed.
public enum MigrationError: Error, CustomStringConvertible {
    case edited(schema: String, number: Int)
    case invalidSchema(String)

    public var description: String {
        switch self {
        case .edited(let schema, let number): "migration \(number) of \(schema) was changed after it was applied"
        case .invalidSchema(let name): "not a valid schema name: \(name)"
        }
    }
}

/// How a schema differs from what a program knows. Numbers of migrations, in order.
public struct MigrationState: Sendable, Equatable {
    /// Not applied yet.
    public var pending: [Int] = []
    /// Applied, but with a different text.
    public var edited: [Int] = []
    /// Applied, but not known to the program: it is older than the schema.
    public var unknown: [Int] = []

    public init(pending: [Int] = [], edited: [Int] = [], unknown: [Int] = []) {
        (self.pending, self.edited, self.unknown) = (pending, edited, unknown)
    }
}

extension PostgresClient {
    /// Compares `schema` with the steps, and changes nothing. A schema that does not exist has all steps pending.
    public func migrationState(schema: String, _ migrations: [Migration]) async throws -> MigrationState {
        guard let table = PostgresIdentifier(schema: schema, name: "migrations") else {
            throw MigrationError.invalidSchema(schema)
        }
        var applied: [Int: String] = [:]
        do {
            for row in try await query("SELECT number, sha256 FROM \(table)") {
                applied[try row.decode(0, as: Int.self)] = try row.decode(1, as: String.self)
            }
        } catch let error as PostgresError where ["42P01", "3F000"].contains(error.sqlState) {}
        var state = MigrationState()
        for migration in migrations.sorted(by: { $0.number < $1.number }) {
            switch applied.removeValue(forKey: migration.number) {
            case nil: state.pending.append(migration.number)
            case migration.digest?: continue
            case _?: state.edited.append(migration.number)
            }
        }
        state.unknown = applied.keys.sorted()
        return state
    }

    /// Applies the pending steps of `schema` in order, all or none, and returns them.
    ///
    /// Safe to call from several processes at once: an advisory lock serializes them. Applied steps are recorded in
    /// `<schema>.migrations`, which is created if missing.
    public func migrate(schema: String, _ migrations: [Migration]) async throws -> [Migration] {
        guard let name = PostgresIdentifier(schema), let table = PostgresIdentifier(schema: schema, name: "migrations")
        else {
            throw MigrationError.invalidSchema(schema)
        }
        return try await withTransaction { transaction in
            // Another process may hold the lock for longer than the usual lock timeout.
            try await transaction.execute("SET LOCAL lock_timeout = 0")
            try await transaction.execute("SELECT pg_advisory_xact_lock(hashtextextended('martlet.migrate', 0))")
            try await transaction.execute("SET LOCAL lock_timeout TO DEFAULT")
            try await transaction.execute("CREATE SCHEMA IF NOT EXISTS \(name)")
            try await transaction.execute(
                """
                CREATE TABLE IF NOT EXISTS \(table) (
                    number integer PRIMARY KEY, name text NOT NULL, sha256 text NOT NULL,
                    applied timestamptz NOT NULL DEFAULT now())
                """)
            var known: [Int: String] = [:]
            for row in try await transaction.query("SELECT number, sha256 FROM \(table)") {
                known[try row.decode(0, as: Int.self)] = try row.decode(1, as: String.self)
            }
            var applied: [Migration] = []
            for migration in migrations.sorted(by: { $0.number < $1.number }) {
                if let digest = known[migration.number] {
                    guard digest == migration.digest else {
                        throw MigrationError.edited(schema: schema, number: migration.number)
                    }
                    continue
                }
                try await transaction.executeScript(migration.sql)
                try await transaction.execute(
                    "INSERT INTO \(table) (number, name, sha256) VALUES (\(migration.number), \(migration.name), \(migration.digest))"
                )
                applied.append(migration)
            }
            return applied
        }
    }
}
