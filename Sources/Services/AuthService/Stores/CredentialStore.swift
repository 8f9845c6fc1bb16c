public import Foundation
public import MartletAPI
public import MartletCore
public import MartletPostgres

/// A key or secret, as it may be shown to the staff: what it is, never what it says.
public struct CredentialRecord: Codable, Sendable, Equatable {
    public var id: UUID
    public var kind: CredentialKind
    public var environment: AppEnvironment?
    public var label: String
    /// Its last characters.
    public var hint: String
    public var created: Date
    public var expires: Date?
    public var revoked: Date?
    /// To the minute or so: gateways report it in batches.
    public var lastUsed: Date?
}

public struct CredentialStore: Sendable {
    let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Makes a credential of an app. The text is returned once and kept nowhere.
    ///
    /// - Parameter environment: for `client`, `ingest` and `evaluation`; ignored for the others.
    public func create(
        _ kind: CredentialKind, environment: AppEnvironment, label: String, expires: Date? = nil, networks: [String]? = nil,
        of appID: String
    ) async throws -> (record: CredentialRecord, text: Secret) {
        let scope = kind == .secret || kind == .master ? nil : environment
        let text = Credential.make(kind, environment: scope)
        let (digest, hint) = text.withValue { (Credential.hexDigest(of: $0), String($0.suffix(4))) }
        let rows = try await postgres.query(
            """
            INSERT INTO auth.credentials (app_id, kind, environment, label, sha256, hint, networks, expires)
            VALUES (\(appID), \(kind.rawValue), \(scope?.rawValue), \(label), \(digest), \(hint), \(networks), \(expires))
            RETURNING \(Self.columns)
            """)
        return (try CredentialRecord(rows[0]), text)
    }

    /// All credentials of an app, revoked ones too, oldest first.
    public func list(of appID: String) async throws -> [CredentialRecord] {
        try await postgres.query(
            "SELECT \(Self.columns) FROM auth.credentials WHERE app_id = \(appID) ORDER BY created, id"
        ).map(CredentialRecord.init)
    }

    /// Ends a credential's life within a second or two at every gateway; false when there is no live one of that id.
    public func revoke(_ id: UUID) async throws -> Bool {
        try await postgres.execute(
            "UPDATE auth.credentials SET revoked = now() WHERE id = \(id) AND revoked IS NULL") > 0
    }

    /// Notes when credentials were used last. Unknown ids are ignored, and time only moves forward.
    func recordUse(_ used: [UUID: Date]) async throws {
        let ids = used.keys.map(\.uuidString)
        let times = ids.map { UUID(uuidString: $0).flatMap { used[$0] }?.timeIntervalSince1970 ?? 0 }.map { String($0) }
        try await postgres.execute(
            """
            UPDATE auth.credentials AS credential SET last_used = to_timestamp(used.time::double precision)
            FROM unnest(\(ids), \(times)) AS used (id, time)
            WHERE credential.id = used.id::uuid
                AND (last_used IS NULL OR last_used < to_timestamp(used.time::double precision))
            """)
    }

    private static let columns: PostgresQuery =
        "id, kind, environment, label, hint, created, expires, revoked, last_used"
}

extension CredentialRecord {
    fileprivate init(_ row: PostgresRow) throws {
        guard let kind = CredentialKind(rawValue: try row.decode(1)) else { throw UnknownCredentialKind() }
        self.init(
            id: try row.decode(0), kind: kind,
            environment: try row.decode(2, as: String?.self).flatMap(AppEnvironment.init),
            label: try row.decode(3), hint: try row.decode(4), created: try row.decode(5), expires: try row.decode(6),
            revoked: try row.decode(7), lastUsed: try row.decode(8))
    }
}

/// The table holds a kind that this version does not know.
struct UnknownCredentialKind: Error {}
