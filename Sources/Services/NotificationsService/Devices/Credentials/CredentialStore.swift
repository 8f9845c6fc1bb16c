import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletPush

/// What push services and mail servers know apps by, sealed. Every change is told on `PushCredentials.channel`.
struct CredentialStore: Sendable {
    let postgres: PostgresClient
    let sealing: SealingKey

    /// All of the space, without anything secret.
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

    /// Takes the place of what there was of the kind; nothing is known against it yet.
    func put(_ content: some CredentialContent, by author: Author, in space: Int32) async throws -> StoredCredential {
        let kind = type(of: content).kind
        let sealed = try sealing.seal(value: content, for: Self.label(kind, space))
        let rows = try await postgres.query(
            """
            WITH told AS (SELECT pg_notify(\(PushCredentials.channel), \(String(space)))), put AS (
                INSERT INTO notifications.credentials (space, kind, shown, sealed, author)
                SELECT \(space), \(kind.rawValue), \(PostgresJSON(content.shown.text)), \(sealed), \(author.text) FROM told
                ON CONFLICT (space, kind) DO UPDATE SET shown = excluded.shown, sealed = excluded.sealed, author = excluded.author,
                    updated = greatest(clock_timestamp(), credentials.updated + interval '1 microsecond'), broken = NULL, broken_reason = NULL, next_try = NULL
                RETURNING \(Self.columns))
            SELECT * FROM put
            """)
        return try stored(rows[0], space)
    }

    /// False: there was none.
    func delete(_ kind: CredentialKind, in space: Int32) async throws -> Bool {
        try await change(
            "DELETE FROM notifications.credentials WHERE space = \(space) AND kind = \(kind.rawValue) RETURNING space")
    }

    /// The credential with its secret; nil: there is none, or it was sealed under another internal secret.
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
    ///   - version: nothing is done to one that was stored later; nil: to whichever there is.
    ///   - isTried: the first time in a minute.
    func markBroken(_ kind: CredentialKind, in space: Int32, version: Date?, reason: String, isTried: Bool) async throws
    {
        _ = try await change(
            """
            UPDATE notifications.credentials SET broken = now(), broken_reason = \(reason),
                next_try = CASE WHEN \(isTried) THEN now() + interval '1 minute' END
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

    /// What the space sends with now.
    ///
    /// - Parameter known: keys of it that have not changed are used again.
    func current(_ space: Int32, known: PushCredentials.Current?) async throws -> PushCredentials.Current {
        var current = PushCredentials.Current()
        let rows = try await postgres.query(
            "SELECT kind, updated, broken_reason, sealed FROM notifications.credentials WHERE space = \(space) AND kind <> \(CredentialKind.smtp.rawValue)"
        )
        for row in rows {
            // One of a kind that a later version knows spoils no other.
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

    /// Runs a statement that returns the space where it did something, and tells of it.
    private func change(_ statement: PostgresQuery) async throws -> Bool {
        let rows = try await postgres.query(
            "WITH changed AS (\(statement)) SELECT pg_notify(\(PushCredentials.channel), space::text) FROM changed")
        return !rows.isEmpty
    }

    /// What is sealed for one place opens in no other.
    private static func label(_ kind: CredentialKind, _ space: Int32) -> String { "\(kind.rawValue) \(space)" }

    private static let columns: PostgresQuery = "kind, shown, author, updated, broken, broken_reason, sealed"

    /// One that does not open counts as broken since it was stored.
    private func stored(_ row: PostgresRow, _ space: Int32) throws -> StoredCredential {
        let (kind, updated) = (try row.word(0, as: CredentialKind.self), try row.decode(3, as: Date.self))
        var broken = try row.decode(4, as: Date?.self).map {
            (since: $0, reason: try row.decode(5, as: String?.self) ?? "")
        }
        if sealing.open(try row.decode(6), for: Self.label(kind, space)) == nil {
            broken = (updated, "It was sealed under another internal.secret. Store it again.")
        }
        return StoredCredential(
            kind: kind, shown: try JSONValue(parsing: row.decode(1, as: PostgresJSON.self).bytes),
            author: try row.decode(2), updated: updated, broken: broken)
    }
}
