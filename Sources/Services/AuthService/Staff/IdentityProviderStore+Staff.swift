import MartletAPI
import MartletCore
import MartletPostgres

/// Identity providers for staff. Whoever sets up a provider can sign in as any staff member linked to it, so only
/// administrators may do so. Every change is recorded in the audit log.
extension IdentityProviderStore {
    /// - Returns: The provider in its new state; nil if there are too many.
    /// - Throws: `forbidden` unless the actor is an administrator at this moment.
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

    /// Deletes a provider. Staff stay linked but cannot sign in with it until it is set up again. Returns false if
    /// there was none.
    ///
    /// - Throws: `forbidden` unless the actor is an administrator at this moment.
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
        guard author.isAdministrator else { throw ServiceError(.forbidden, "Only administrators may do this.") }
        return author
    }

    private func settings(of name: String, _ transaction: PostgresTransaction) async throws -> JSONValue? {
        try await transaction.query(Self.selection(of: name, in: .staff)).first.map {
            try JSONValue(encoding: try provider($0, in: .staff).settings)
        }
    }
}
