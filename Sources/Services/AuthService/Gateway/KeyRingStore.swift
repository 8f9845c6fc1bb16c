import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// Reads the key ring in the form that gateways get.
struct KeyRingStore: Sendable {
    let postgres: PostgresClient

    func version() async throws -> Int64 {
        try await postgres.query("SELECT version FROM auth.key_ring")[0].decode(0)
    }

    /// The RS256 public keys of ID tokens; only the provider uses them.
    func idTokenKeys() async throws -> [RSATokenVerifier] {
        try await postgres.query(
            "SELECT id, public_key FROM auth.id_token_keys WHERE expires IS NULL OR expires > now() ORDER BY signs_from, id"
        ).map { try RSATokenVerifier(keyID: $0.decode(0), publicKey: $0.decode(1)) }
    }

    /// All apps and live credentials, the keys of access tokens and the staff, read from one snapshot.
    func read() async throws -> KeyRing {
        try await postgres.withTransaction(isolation: .repeatableRead, readOnly: true) { transaction in
            let version: Int64 = try await transaction.query("SELECT version FROM auth.key_ring")[0].decode(0)
            var apps = try await transaction.query(
                "SELECT id, number, name FROM auth.apps WHERE archived IS NULL ORDER BY number"
            ).map {
                KeyRing.App(id: try $0.decode(0), number: try $0.decode(1), name: try $0.decode(2), credentials: [])
            }
            let positions = Dictionary(uniqueKeysWithValues: apps.enumerated().map { ($1.id, $0) })
            let rows = try await transaction.query(
                """
                SELECT app_id, id, kind, environment, sha256, expires, networks, scopes FROM auth.credentials
                WHERE revoked IS NULL AND (expires IS NULL OR expires > now()) ORDER BY created, id
                """)
            for row in rows {
                guard let position = positions[try row.decode(0)],
                    let kind = CredentialKind(rawValue: try row.decode(2))
                else { continue }
                apps[position].credentials.append(
                    KeyRing.Credential(
                        id: try row.decode(1, as: UUID.self).uuidString.lowercased(), kind: kind,
                        environment: try row.decode(3, as: String?.self).flatMap(AppEnvironment.init),
                        sha256: try row.decode(4), expires: try row.decode(5), networks: try row.decode(6),
                        scopes: try row.decode(7)))
            }
            let keys = try await transaction.query(
                "SELECT id, public_key, expires FROM auth.signing_keys WHERE expires IS NULL OR expires > now() ORDER BY signs_from, id"
            ).map { row in
                KeyRing.SigningKey(
                    id: try row.decode(0), publicKey: Base64URL.encode(try row.decode(1, as: Data.self)),
                    expires: try row.decode(2))
            }
            let staff = try await transaction.query(
                "SELECT \(StaffStore.grantColumns) FROM auth.staff AS u WHERE NOT disabled ORDER BY id"
            ).map { try StaffStore.grant($0) }
            return KeyRing(version: version, apps: apps, signingKeys: keys, staff: staff)
        }
    }
}
