import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletPush

/// The credentials for push services and mail servers, stored encrypted. Every change is notified on
/// `PushCredentials.channel`.
struct CredentialStore: Sendable {
    let postgres: PostgresClient
    let sealing: SealingKey

    /// The credentials of the space, without secrets.
    func list(in space: Int32) async throws -> [StoredCredential] {
        try await postgres.query(
            "SELECT \(Self.columns) FROM notifications.credentials WHERE space = \(space) ORDER BY kind"
        )
        .map { try stored($0, space) }
    }

    func read(_ kind: CredentialKind, in space: Int32) async throws -> StoredCredential? {
        try await postgres.query(
            "SELECT \(Self.columns) FROM notifications.credentials WHERE space = \(space) AND kind = \(kind.rawValue)"
        )
        .first.map { try stored($0, space) }
    }

    /// Stores a credential, replacing one of the same kind, and clears its broken mark.
    func put(_ content: some CredentialContent, by author: Author, in space: Int32) async throws -> StoredCredential {
        let kind = type(of: content).kind
        let sealed = try sealing.seal(value: content, for: Self.label(kind, space))
        let rows = try await postgres.query(
            """
            WITH notified AS (SELECT pg_notify(\(PushCredentials.channel), \(String(space)))), put AS (
                INSERT INTO notifications.credentials (space, kind, shown, sealed, author)
                SELECT \(space), \(kind.rawValue), \(PostgresJSON(content.shown.text)), \(sealed), \(author.text) FROM notified
                ON CONFLICT (space, kind) DO UPDATE SET shown = excluded.shown, sealed = excluded.sealed, author = excluded.author,
                    updated = greatest(clock_timestamp(), credentials.updated + interval '1 microsecond'), broken = NULL, broken_reason = NULL, next_try = NULL
                RETURNING \(Self.columns))
            SELECT * FROM put
            """)
        return try stored(rows[0], space)
    }

    /// Returns false if there was none.
    func delete(_ kind: CredentialKind, in space: Int32) async throws -> Bool {
        try await change(
            "DELETE FROM notifications.credentials WHERE space = \(space) AND kind = \(kind.rawValue) RETURNING space")
    }

    /// The credential with its secret. Nil when there is none, or when it was encrypted under another internal secret.
    func content<Content: CredentialContent>(_: Content.Type = Content.self, in space: Int32) async throws -> (
        content: Content, stored: StoredCredential
    )? {
        let rows = try await postgres.query(
            "SELECT \(Self.columns) FROM notifications.credentials WHERE space = \(space) AND kind = \(Content.kind.rawValue)"
        )
        guard let row = rows.first,
            let content = sealing.value(Content.self, in: try row.decode(6), for: Self.label(Content.kind, space))
        else { return nil }
        return (content, try stored(row, space))
    }

    /// - Parameters:
    ///   - version: Changes only this version; nil changes the current one.
    ///   - isRetried: Whether the credential is retried, for the first time after one minute.
    func markBroken(_ kind: CredentialKind, in space: Int32, version: Date?, reason: String, isRetried: Bool)
        async throws
    {
        _ = try await change(
            """
            UPDATE notifications.credentials SET broken = now(), broken_reason = \(reason),
                next_try = CASE WHEN \(isRetried) THEN now() + interval '1 minute' END
            WHERE space = \(space) AND kind = \(kind.rawValue) AND broken IS NULL AND (\(version)::timestamptz IS NULL OR updated = \(version)) RETURNING space
            """)
    }

    func markGood(_ kind: CredentialKind, in space: Int32) async throws {
        _ = try await change(
            """
            UPDATE notifications.credentials SET broken = NULL, broken_reason = NULL, next_try = NULL
            WHERE space = \(space) AND kind = \(kind.rawValue) AND broken IS NOT NULL RETURNING space
            """)
    }

    /// The credentials that the space currently sends with.
    ///
    /// - Parameter known: The previous result; keys that have not changed are reused from it.
    func current(_ space: Int32, known: PushCredentials.Current?) async throws -> PushCredentials.Current {
        var current = PushCredentials.Current()
        let rows = try await postgres.query(
            "SELECT kind, updated, broken_reason, sealed FROM notifications.credentials WHERE space = \(space) AND kind <> \(CredentialKind.smtp.rawValue)"
        )
        for row in rows {
            // Skip a kind that only a later version knows, so that the others remain usable.
            guard let kind = CredentialKind(rawValue: try row.decode(0)) else { continue }
            let (updated, sealed) = (try row.decode(1, as: Date.self), try row.decode(3, as: Data.self))
            let same = known.flatMap { $0.versions[kind] == updated ? $0 : nil }
            current.versions[kind] = updated
            current.broken[kind] = try row.decode(2, as: String?.self)
            switch kind {
            case .apns: current.apns = same?.apns ?? open(APNsKeyFile.self, sealed, space)?.credential
            case .fcm: current.fcm = same?.fcm ?? open(FCMAccountFile.self, sealed, space)?.account
            case .webpush: current.webPush = same?.webPush ?? open(VAPIDKeyFile.self, sealed, space)?.key
            case .smtp: break
            }
        }
        return current
    }

    private func open<Content: CredentialContent>(_: Content.Type, _ sealed: Data, _ space: Int32) -> Content? {
        sealing.value(Content.self, in: sealed, for: Self.label(Content.kind, space))
    }

    /// Runs a statement that returns the affected space, and notifies the change.
    private func change(_ statement: PostgresQuery) async throws -> Bool {
        let rows = try await postgres.query(
            "WITH changed AS (\(statement)) SELECT pg_notify(\(PushCredentials.channel), space::text) FROM changed")
        return !rows.isEmpty
    }

    /// Binds the ciphertext to its kind and space, so that it cannot be decrypted in another place.
    private static func label(_ kind: CredentialKind, _ space: Int32) -> String { "\(kind.rawValue) \(space)" }

    private static let columns: PostgresQuery = "kind, shown, author, updated, broken, broken_reason, sealed"

    /// Reads a row. A credential that cannot be decrypted counts as broken since it was stored.
    private func stored(_ row: PostgresRow, _ space: Int32) throws -> StoredCredential {
        let (kind, updated) = (try row.word(0, as: CredentialKind.self), try row.decode(3, as: Date.self))
        var broken = try row.decode(4, as: Date?.self).map {
            (since: $0, reason: try row.decode(5, as: String?.self) ?? "")
        }
        if sealing.open(try row.decode(6), for: Self.label(kind, space)) == nil {
            broken = (updated, "The credential was encrypted under another internal.secret. Store it again.")
        }
        return StoredCredential(
            kind: kind, shown: try JSONValue(parsing: row.decode(1, as: PostgresJSON.self).bytes),
            author: try row.decode(2), updated: updated, broken: broken)
    }
}
