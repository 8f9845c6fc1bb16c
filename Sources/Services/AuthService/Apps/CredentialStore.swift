public import Foundation
public import MartletAPI
public import MartletCore
public import MartletPostgres

/// A key or secret as it may be shown to staff, without its text.
public struct CredentialRecord: Codable, Sendable, Equatable {
    public var id: UUID
    public var kind: CredentialKind
    public var environment: AppEnvironment?
    public var label: String
    /// The last characters of the text.
    public var hint: String
    public var created: Date
    public var expires: Date?
    public var revoked: Date?
    /// Accurate to about a minute, because gateways report the use of credentials in batches.
    public var lastUsed: Date?
    /// The CIDR blocks from which the credential is accepted. Nil means all networks; for a master key, nil means the
    /// gateway's default.
    public var networks: [String]?
    /// The limits of a master key or secret, as written by `KeyScope`; nil for no limits.
    public var scopes: [String]?
}

/// The properties of a new credential.
public struct NewCredential: Sendable {
    public var kind: CredentialKind
    /// For `client`, `ingest` and `evaluation` only; ignored for other kinds.
    public var environment: AppEnvironment
    public var label: String
    public var expires: Date?
    public var networks: [String]?
    /// For `secret` and `master` only.
    public var scopes: [String]?

    public init(
        kind: CredentialKind, environment: AppEnvironment = .live, label: String, expires: Date? = nil,
        networks: [String]? = nil,
        scopes: [String]? = nil
    ) {
        self.kind = kind
        self.environment = environment
        self.label = label
        self.expires = expires
        self.networks = networks
        self.scopes = scopes
    }
}

public struct CredentialStore: Sendable {
    let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Creates a credential of an app as the operator, with an entry in the audit log. The text is returned once and
    /// never stored.
    public func create(_ new: NewCredential, of appID: String) async throws -> (record: CredentialRecord, text: Secret)
    {
        try await postgres.withTransaction { transaction in
            let created = try await Self.create(new, of: appID, transaction)
            try await AuditStore(postgres: postgres).record(
                AuditEntry(
                    byOperator: "create-key", .applications, of: appID,
                    target: created.record.id.uuidString.lowercased(),
                    after: try JSONValue(encoding: created.record)), transaction)
            return created
        }
    }

    /// The same with defaults for the other properties.
    public func create(
        _ kind: CredentialKind, environment: AppEnvironment, label: String, expires: Date? = nil,
        networks: [String]? = nil,
        of appID: String
    ) async throws -> (record: CredentialRecord, text: Secret) {
        try await create(
            NewCredential(kind: kind, environment: environment, label: label, expires: expires, networks: networks),
            of: appID)
    }

    static func create(
        _ new: NewCredential, of appID: String, _ transaction: PostgresTransaction
    ) async throws -> (record: CredentialRecord, text: Secret) {
        let (insertion, text) = insertion(of: new, appID)
        return (try CredentialRecord(try await transaction.query(insertion)[0]), text)
    }

    private static func insertion(of new: NewCredential, _ appID: String) -> (PostgresQuery, text: Secret) {
        let environment = new.kind == .secret || new.kind == .master ? nil : new.environment
        let text = Credential.make(new.kind, environment: environment)
        let (digest, hint) = text.withValue { (Credential.hexDigest(of: $0), String($0.suffix(4))) }
        let insertion: PostgresQuery = """
            INSERT INTO auth.credentials (app_id, kind, environment, label, sha256, hint, networks, expires, scopes)
            VALUES (\(appID), \(new.kind.rawValue), \(environment?.rawValue), \(new.label), \(digest), \(hint), \(new.networks), \(new.expires),
                \(new.scopes))
            RETURNING \(columns)
            """
        return (insertion, text)
    }

    /// All credentials of an app, including revoked ones, oldest first.
    public func list(of appID: String) async throws -> [CredentialRecord] {
        try await postgres.query(
            "SELECT \(Self.columns) FROM auth.credentials WHERE app_id = \(appID) ORDER BY created, id"
        ).map(CredentialRecord.init)
    }

    /// Revokes a credential as the operator, with an entry in the audit log. Every gateway refuses the credential
    /// within two seconds. Returns false if there is no live credential with this id.
    public func revoke(_ id: UUID) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            let appID: String? = try await transaction.query(
                "UPDATE auth.credentials SET revoked = now() WHERE id = \(id) AND revoked IS NULL RETURNING app_id"
            ).first?.decode(0)
            guard let appID else { return false }
            try await AuditStore(postgres: postgres).record(
                AuditEntry(byOperator: "revoke-key", .applications, of: appID, target: id.uuidString.lowercased()),
                transaction)
            return true
        }
    }

    /// Records when credentials were last used. Unknown ids are ignored, and times only move forward.
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
        "id, kind, environment, label, hint, created, expires, revoked, last_used, networks, scopes"
}

extension CredentialRecord {
    fileprivate init(_ row: PostgresRow) throws {
        guard let kind = CredentialKind(rawValue: try row.decode(1)) else { throw UnknownCredentialKind() }
        self.init(
            id: try row.decode(0), kind: kind,
            environment: try row.decode(2, as: String?.self).flatMap(AppEnvironment.init),
            label: try row.decode(3), hint: try row.decode(4), created: try row.decode(5), expires: try row.decode(6),
            revoked: try row.decode(7), lastUsed: try row.decode(8), networks: try row.decode(9),
            scopes: try row.decode(10))
    }
}

/// The table contains a kind that this version does not know.
struct UnknownCredentialKind: Error {}
