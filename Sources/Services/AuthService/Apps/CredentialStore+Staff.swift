import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// A change to a credential; nil leaves a property unchanged.
struct CredentialChange: Sendable {
    var label: String?
    /// `.some(nil)` removes the expiry.
    var expires: Date??
    /// `.some(nil)` allows all networks, or for a master key the gateway's default.
    var networks: [String]??
    /// `.some(nil)` removes all limits.
    var scopes: [String]??
}

/// Keys and secrets as staff see and change them: JSON objects without the text. Every change is recorded in the audit
/// log.
extension CredentialStore {
    /// The maximum number of credentials of an app, without revoked ones.
    static let maximumPerApp = 200

    struct CreatedCredential: Sendable {
        var id: UUID
        var text: Secret
        /// The credential without its text, as JSON.
        var json: String
    }

    /// The credentials that are not revoked, and optionally the last thousand revoked ones, newest first.
    func list(of appID: String, withRevoked: Bool) async throws -> [String] {
        try await postgres.query(
            """
            (SELECT \(Self.json) FROM auth.credentials AS c WHERE c.app_id = \(appID) AND c.revoked IS NULL ORDER BY c.created DESC, c.id)
            UNION ALL
            (SELECT \(Self.json) FROM auth.credentials AS c WHERE c.app_id = \(appID) AND c.revoked IS NOT NULL AND \(withRevoked)
            ORDER BY c.created DESC, c.id LIMIT 1000)
            """
        ).map { try $0.decode(0) }
    }

    /// - Throws: `forbidden` if the key would give rights that its author does not have, `limit-exceeded`; the errors
    ///   of `AppStore.lock`.
    func create(_ new: NewCredential, of appID: String, by author: AppAuthor) async throws -> CreatedCredential {
        try author.checkHasRights(ofKey: new.kind, scopes: new.scopes, of: appID)
        return try await postgres.withTransaction { transaction in
            try await AppStore.lock(appID, transaction)
            return try await Self.create(new, of: appID, by: author, transaction)
        }
    }

    /// - Returns: Nil if there is no such credential or it is revoked.
    /// - Throws: The errors of `create`; `invalid-body` for scopes on a kind that takes none; `conflict` for a new
    ///   expiry of an expired credential.
    func change(_ id: UUID, _ change: CredentialChange, of appID: String, by author: AppAuthor) async throws -> String?
    {
        try await postgres.withTransaction { transaction in
            try await AppStore.lock(appID, transaction)
            guard let stored = try await Self.find(id, of: appID, transaction) else { return nil }
            if case .some(.some) = change.scopes, !stored.kind.acceptsScopes {
                throw ServiceError(.invalidBody, "Only secrets and master keys can be limited.", field: "scopes")
            }
            // An expired credential cannot be extended. Otherwise someone who finds the credential's text on an old
            // phone or in a backup could regain access.
            guard stored.isLive || change.expires == nil else {
                throw ServiceError(.conflict, "The key has expired; create another one.")
            }
            // A longer life, other networks or other scopes can make the key as powerful as a new one.
            if change.expires != nil || change.networks != nil || change.scopes != nil {
                try author.checkHasRights(ofKey: stored.kind, scopes: change.scopes ?? stored.scopes, of: appID)
            }
            let after: String = try await transaction.query(Self.update(id, change))[0].decode(0)
            try await author.record(
                "update-key", of: appID, target: Self.name(id), before: stored.json, after: after, transaction)
            return after
        }
    }

    /// Revokes a credential. Every gateway refuses the credential within two seconds.
    ///
    /// - Parameter isForced: Whether the last live credential of its kind may be revoked.
    /// - Returns: False if there is no such credential or it is already revoked.
    /// - Throws: `conflict` for the last live app key of an environment and the last live secret; the errors of
    ///   `AppStore.lock`.
    func revoke(_ id: UUID, isForced: Bool, of appID: String, by author: AppAuthor) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            try await AppStore.lock(appID, allowingArchived: true, transaction)
            guard let stored = try await Self.find(id, of: appID, transaction) else { return false }
            if !isForced, stored.isLive, stored.kind == .client || stored.kind == .secret,
                try await !Self.hasOther(than: id, stored.kind, of: appID, transaction)
            {
                throw ServiceError(
                    .conflict,
                    "This is the app's last credential of its kind; revoking it would lock out every client. Send force=true to revoke it anyway."
                )
            }
            let after: String = try await transaction.query(
                "UPDATE auth.credentials AS c SET revoked = now() WHERE c.id = \(id) RETURNING \(Self.json)")[0].decode(
                    0)
            try await author.record(
                "revoke-key", of: appID, target: Self.name(id), before: stored.json, after: after, transaction)
            return true
        }
    }

    /// Creates a credential of the same kind with the same lifetime and limits, and sets an expiry on the old one.
    ///
    /// - Parameter grace: How many seconds the old credential remains valid, if it is valid now.
    /// - Returns: Nil if there is no such credential or it is revoked.
    /// - Throws: The errors of `create`.
    func rotate(_ id: UUID, grace: Int, of appID: String, by author: AppAuthor) async throws -> (
        new: CreatedCredential, old: String
    )? {
        try await postgres.withTransaction { transaction in
            try await AppStore.lock(appID, transaction)
            guard let stored = try await Self.find(id, of: appID, transaction) else { return nil }
            try author.checkHasRights(ofKey: stored.kind, scopes: stored.scopes, of: appID)
            let successor = NewCredential(
                kind: stored.kind, environment: stored.environment ?? .live, label: stored.label,
                expires: stored.nextExpiry,
                networks: stored.networks, scopes: stored.scopes)
            let created = try await Self.create(successor, of: appID, by: author, transaction)
            let after: String = try await transaction.query(
                """
                UPDATE auth.credentials AS c SET expires = least(c.expires, now() + \(grace) * interval '1 second'),
                    revoked = CASE WHEN \(grace) = 0 THEN now() END
                WHERE c.id = \(id) RETURNING \(Self.json)
                """)[0].decode(0)
            try await author.record(
                "rotate-key", of: appID, target: Self.name(id), before: stored.json, after: after, transaction)
            return (created, after)
        }
    }

    /// Runs in a transaction that holds the lock of the app.
    private static func create(
        _ new: NewCredential, of appID: String, by author: AppAuthor, _ transaction: PostgresTransaction
    ) async throws -> CreatedCredential {
        let count: Int = try await transaction.query(
            "SELECT count(*) FROM auth.credentials WHERE app_id = \(appID) AND revoked IS NULL")[0].decode(0)
        guard count < maximumPerApp else {
            throw ServiceError(
                .limitExceeded, "An app may have at most \(maximumPerApp) keys and secrets; revoke unused ones.")
        }
        let (record, text) = try await create(new, of: appID, transaction)
        let json: String = try await transaction.query(
            "SELECT \(Self.json) FROM auth.credentials AS c WHERE c.id = \(record.id)")[0].decode(0)
        try await author.record("create-key", of: appID, target: name(record.id), after: json, transaction)
        return CreatedCredential(id: record.id, text: text, json: json)
    }

    private struct Stored: Sendable {
        var kind: CredentialKind
        var environment: AppEnvironment?
        var label: String
        var networks: [String]?
        var scopes: [String]?
        var isLive: Bool
        /// The expiry of a successor created now with the same lifetime.
        var nextExpiry: Date?
        var json: String
    }

    /// A credential that is not revoked.
    private static func find(_ id: UUID, of appID: String, _ transaction: PostgresTransaction) async throws -> Stored? {
        let row = try await transaction.query(
            """
            SELECT c.kind, c.environment, c.label, c.networks, c.scopes, c.expires IS NULL OR c.expires > now(),
                now() + (c.expires - c.created), \(json)
            FROM auth.credentials AS c WHERE c.id = \(id) AND c.app_id = \(appID) AND c.revoked IS NULL
            """
        ).first
        guard let row else { return nil }
        guard let kind = CredentialKind(rawValue: try row.decode(0)) else { throw UnknownCredentialKind() }
        return Stored(
            kind: kind, environment: try row.decode(1, as: String?.self).flatMap(AppEnvironment.init),
            label: try row.decode(2),
            networks: try row.decode(3), scopes: try row.decode(4), isLive: try row.decode(5),
            nextExpiry: try row.decode(6), json: try row.decode(7))
    }

    /// Whether the app has another live credential of this kind and environment.
    private static func hasOther(
        than id: UUID, _ kind: CredentialKind, of appID: String, _ transaction: PostgresTransaction
    ) async throws -> Bool {
        try await !transaction.query(
            """
            SELECT FROM auth.credentials AS c JOIN auth.credentials AS own ON own.id = \(id)
            WHERE c.app_id = \(appID) AND c.kind = \(kind.rawValue) AND c.id <> own.id AND c.environment IS NOT DISTINCT FROM own.environment
                AND c.revoked IS NULL AND (c.expires IS NULL OR c.expires > now())
            LIMIT 1
            """
        ).isEmpty
    }

    private static func update(_ id: UUID, _ change: CredentialChange) -> PostgresQuery {
        var assignments: [PostgresQuery] = ["id = id"]
        if let label = change.label { assignments.append("label = \(label)") }
        if let expires = change.expires { assignments.append("expires = \(expires)") }
        if let networks = change.networks { assignments.append("networks = \(networks)") }
        if let scopes = change.scopes { assignments.append("scopes = \(scopes)") }
        return
            "UPDATE auth.credentials AS c SET \(assignments.joined(separator: ", ")) WHERE c.id = \(id) RETURNING \(json)"
    }

    private static func name(_ id: UUID) -> String { id.uuidString.lowercased() }

    /// The JSON of the row `c`.
    private static let json: PostgresQuery = """
        jsonb_build_object(
            'id', c.id, 'kind', c.kind, 'environment', c.environment, 'label', c.label, 'hint', c.hint, 'networks', c.networks, 'scopes', c.scopes,
            'created', \(PostgresQuery.rfc3339("c.created")), 'expires', \(PostgresQuery.rfc3339("c.expires")), 'revoked', \(PostgresQuery.rfc3339("c.revoked")),
            'lastUsed', \(PostgresQuery.rfc3339("c.last_used")))::text
        """
}

extension CredentialKind {
    /// Whether the kind can be limited to parts of the API. The other kinds give access to only one thing each.
    var acceptsScopes: Bool { self == .secret || self == .master }
}
