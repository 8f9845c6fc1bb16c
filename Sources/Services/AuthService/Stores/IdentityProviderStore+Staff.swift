import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Where staff sign in from elsewhere. Whoever sets that up can be any staff member who is linked there: administrators
/// alone may. Every change is in the audit log.
extension IdentityProviderStore {
    /// - Returns: the provider as it is now; nil: there are too many.
    /// - Throws: `forbidden` for who is no administrator at this moment.
    func save(_ name: String, _ settings: IdentityProvider, secret: Secret?, by actor: StaffActor) async throws
        -> RegisteredProvider?
    {
        try await postgres.withTransaction { transaction in
            let author = try await lockAdministrator(actor, transaction)
            let before = try await self.settings(of: name, transaction)
            let row = try await transaction.query(try upsert(of: name, settings, secret: secret, in: .staff)).first
            guard let saved = try row.map({ try provider($0, in: .staff) }) else { return nil }
            try await AuditStore(postgres: postgres).record(
                AuditEntry(
                    by: author, "set-identity-provider", .staff, target: name, before: before,
                    after: try JSONValue(encoding: saved.settings),
                    from: actor.address), transaction)
            return saved
        }
    }

    /// Staff stay linked, and cannot sign in by it until it is set up again. False: there was none.
    ///
    /// - Throws: `forbidden` for who is no administrator at this moment.
    func delete(_ name: String, by actor: StaffActor) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            let author = try await lockAdministrator(actor, transaction)
            guard let before = try await settings(of: name, transaction) else { return false }
            try await transaction.execute(Self.deletion(of: name, in: .staff))
            try await AuditStore(postgres: postgres).record(
                AuditEntry(
                    by: author, "delete-identity-provider", .staff, target: name, before: before, from: actor.address),
                transaction)
            return true
        }
    }

    private func lockAdministrator(_ actor: StaffActor, _ transaction: PostgresTransaction) async throws -> StaffGrant {
        let author = try await StaffStore(postgres: postgres).lock(actor, transaction)
        guard author.isAdministrator else { throw HTTPProblem(.forbidden, "This is for administrators.") }
        return author
    }

    private func settings(of name: String, _ transaction: PostgresTransaction) async throws -> JSONValue? {
        try await transaction.query(Self.selection(of: name, in: .staff)).first.map {
            try JSONValue(encoding: try provider($0, in: .staff).settings)
        }
    }
}
