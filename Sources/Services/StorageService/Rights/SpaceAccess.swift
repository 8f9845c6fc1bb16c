import MartletAPI
import MartletCore
import MartletPostgres

/// What clients may do in a space where no rule says otherwise: everything or nothing. Stored in `storage.spaces`.
enum SpaceAccess: String, Sendable, CaseIterable {
    case closed, open

    /// The access of a space for which nothing is stored.
    static func byDefault(in environment: AppEnvironment) -> SpaceAccess { environment == .live ? .closed : .open }

    /// - Throws: `invalid-body` for anything but one of the names.
    init(_ value: JSONValue?) throws {
        guard case .string(let name) = value, let access = SpaceAccess(rawValue: name) else {
            let found =
                if case .string(let name) = value { JSONValue.excerpt(name) } else { value?.phrase ?? "nothing" }
            throw ServiceError(.invalidBody, "Expected \"closed\" or \"open\", found \(found).", field: "access")
        }
        self = access
    }

    /// The column `access` of a row of `storage.spaces`, or none.
    init(stored name: String?, in environment: AppEnvironment) {
        self = name.flatMap(SpaceAccess.init(rawValue:)) ?? .byDefault(in: environment)
    }

    /// Stores the access of a space and invalidates what copies of the service have cached.
    func set(in space: AppSchema, _ transaction: PostgresTransaction) async throws {
        // The row is missing only if an older backup was just restored. Version 0 lets every script run.
        try await transaction.execute(
            """
            INSERT INTO storage.spaces (schema, version, access) VALUES (\(space.schema), 0, \(rawValue))
            ON CONFLICT (schema) DO UPDATE SET access = excluded.access
            """)
        try await transaction.execute("SELECT pg_notify(\(RightsStore.channel), \(space.schema))")
    }
}
