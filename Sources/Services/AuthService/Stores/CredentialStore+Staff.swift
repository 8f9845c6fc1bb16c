import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// What of a credential is to change; nil: nothing.
struct CredentialChange: Sendable {
    var label: String?
    /// `.some(nil)`: until revoked.
    var expires: Date??
    /// `.some(nil)`: from everywhere, or for a master key the gateway's default.
    var networks: [String]??
    /// `.some(nil)`: it opens everything.
    var scopes: [String]??
}

/// Keys and secrets as staff see and change them: JSON objects without their text. Every change is in the audit log.
extension CredentialStore {
    /// That are not revoked, of an app.
    static let maximumPerApp = 200

    struct Made: Sendable {
        var id: UUID
        var text: Secret
        /// What it is.
        var json: String
    }

    /// Those that are not revoked, and where wanted the last thousand that are, newest first.
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

    /// - Throws: `forbidden` when the key would open more than its author may, `limit-exceeded`; as `AppStore.lock`.
    func create(_ new: NewCredential, of appID: String, by author: AppAuthor) async throws -> Made {
        try author.checkMayOpen(new.kind, scopes: new.scopes, of: appID)
        return try await postgres.withTransaction { transaction in
            try await AppStore.lock(appID, transaction)
            return try await Self.create(new, of: appID, by: author, transaction)
        }
    }

    /// - Returns: nil: there is none that is not revoked.
    /// - Throws: as `create`; `invalid-body` for scopes where none can be; `conflict` for another end of one that has
    ///   expired.
    func change(_ id: UUID, _ change: CredentialChange, of appID: String, by author: AppAuthor) async throws -> String?
    {
        try await postgres.withTransaction { transaction in
            try await AppStore.lock(appID, transaction)
            guard let known = try await Self.find(id, of: appID, transaction) else { return nil }
            if case .some(.some) = change.scopes, !known.kind.takesScopes {
                throw HTTPProblem(.invalidBody, "Only secrets and master keys can be limited.", field: "scopes")
            }
            // Who found its text in an old phone or backup must not get in again because somebody prolonged it.
            guard known.isLive || change.expires == nil else {
                throw HTTPProblem(.conflict, "The key has expired: make another one.")
            }
            // With its networks or its life it may become as good as a new one.
            if change.expires != nil || change.networks != nil || change.scopes != nil {
                try author.checkMayOpen(known.kind, scopes: change.scopes ?? known.scopes, of: appID)
            }
            let after: String = try await transaction.query(Self.update(id, change))[0].decode(0)
            try await author.record(
                "update-key", of: appID, target: Self.name(id), before: known.json, after: after, transaction)
            return after
        }
    }

    /// Ends a credential's life, within two seconds at every gateway.
    ///
    /// - Parameter isForced: the last live one of its kind may end, too.
    /// - Returns: false: there is none that is not revoked.
    /// - Throws: `conflict` for the last live app key of an environment and the last live secret; as `AppStore.lock`.
    func revoke(_ id: UUID, isForced: Bool, of appID: String, by author: AppAuthor) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            try await AppStore.lock(appID, allowingArchived: true, transaction)
            guard let known = try await Self.find(id, of: appID, transaction) else { return false }
            if !isForced, known.isLive, known.kind == .client || known.kind == .secret,
                try await !Self.hasOther(than: id, known.kind, of: appID, transaction)
            {
                throw HTTPProblem(
                    .conflict,
                    "This is the app's last one of its kind: every phone would be locked out. With force=true it ends nevertheless."
                )
            }
            let after: String = try await transaction.query(
                "UPDATE auth.credentials AS c SET revoked = now() WHERE c.id = \(id) RETURNING \(Self.json)")[0].decode(
                    0)
            try await author.record(
                "revoke-key", of: appID, target: Self.name(id), before: known.json, after: after, transaction)
            return true
        }
    }

    /// Makes another credential of the same kind, for as long and limited like it, and sets an end to the old one.
    ///
    /// - Parameter grace: seconds for which the old one is still good, if it is now.
    /// - Returns: nil: there is none that is not revoked.
    /// - Throws: as `create`.
    func rotate(_ id: UUID, grace: Int, of appID: String, by author: AppAuthor) async throws -> (
        new: Made, old: String
    )? {
        try await postgres.withTransaction { transaction in
            try await AppStore.lock(appID, transaction)
            guard let known = try await Self.find(id, of: appID, transaction) else { return nil }
            try author.checkMayOpen(known.kind, scopes: known.scopes, of: appID)
            let like = NewCredential(
                kind: known.kind, environment: known.environment ?? .live, label: known.label,
                expires: known.nextExpiry,
                networks: known.networks, scopes: known.scopes)
            let made = try await Self.create(like, of: appID, by: author, transaction)
            let after: String = try await transaction.query(
                """
                UPDATE auth.credentials AS c SET expires = least(c.expires, now() + \(grace) * interval '1 second'),
                    revoked = CASE WHEN \(grace) = 0 THEN now() END
                WHERE c.id = \(id) RETURNING \(Self.json)
                """)[0].decode(0)
            try await author.record(
                "rotate-key", of: appID, target: Self.name(id), before: known.json, after: after, transaction)
            return (made, after)
        }
    }

    /// In a transaction that holds the lock of the app.
    private static func create(
        _ new: NewCredential, of appID: String, by author: AppAuthor, _ transaction: PostgresTransaction
    ) async throws -> Made {
        let count: Int = try await transaction.query(
            "SELECT count(*) FROM auth.credentials WHERE app_id = \(appID) AND revoked IS NULL")[0].decode(0)
        guard count < maximumPerApp else {
            throw HTTPProblem(
                .limitExceeded, "An app may have at most \(maximumPerApp) keys and secrets: revoke what nobody uses.")
        }
        let (record, text) = try await create(new, of: appID, transaction)
        let json: String = try await transaction.query(
            "SELECT \(Self.json) FROM auth.credentials AS c WHERE c.id = \(record.id)")[0].decode(0)
        try await author.record("create-key", of: appID, target: name(record.id), after: json, transaction)
        return Made(id: record.id, text: text, json: json)
    }

    private struct Known: Sendable {
        var kind: CredentialKind
        var environment: AppEnvironment?
        var label: String
        var networks: [String]?
        var scopes: [String]?
        var isLive: Bool
        /// Of one made now, for as long as this one was made for.
        var nextExpiry: Date?
        var json: String
    }

    /// One that is not revoked.
    private static func find(_ id: UUID, of appID: String, _ transaction: PostgresTransaction) async throws -> Known? {
        let row = try await transaction.query(
            """
            SELECT c.kind, c.environment, c.label, c.networks, c.scopes, c.expires IS NULL OR c.expires > now(),
                now() + (c.expires - c.created), \(json)
            FROM auth.credentials AS c WHERE c.id = \(id) AND c.app_id = \(appID) AND c.revoked IS NULL
            """
        ).first
        guard let row else { return nil }
        guard let kind = CredentialKind(rawValue: try row.decode(0)) else { throw UnknownCredentialKind() }
        return Known(
            kind: kind, environment: try row.decode(1, as: String?.self).flatMap(AppEnvironment.init),
            label: try row.decode(2),
            networks: try row.decode(3), scopes: try row.decode(4), isLive: try row.decode(5),
            nextExpiry: try row.decode(6), json: try row.decode(7))
    }

    /// Whether there is another live one that could stand in for it.
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

    /// Of the row `c`.
    private static let json: PostgresQuery = """
        jsonb_build_object(
            'id', c.id, 'kind', c.kind, 'environment', c.environment, 'label', c.label, 'hint', c.hint, 'networks', c.networks, 'scopes', c.scopes,
            'created', \(PostgresQuery.rfc3339("c.created")), 'expires', \(PostgresQuery.rfc3339("c.expires")), 'revoked', \(PostgresQuery.rfc3339("c.revoked")),
            'lastUsed', \(PostgresQuery.rfc3339("c.last_used")))::text
        """
}

extension CredentialKind {
    /// Whether it can be limited to parts of the API: the others open one thing each.
    var takesScopes: Bool { self == .secret || self == .master }
}
