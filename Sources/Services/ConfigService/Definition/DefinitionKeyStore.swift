import Crypto
import Foundation
import MartletCore
import MartletPostgres

/// The private key that signs an app's manifests.
struct DefinitionSigner: Sendable {
    let id: String
    private let key: Curve25519.Signing.PrivateKey

    init(_ key: Curve25519.Signing.PrivateKey) {
        self.key = key
        id = DefinitionPublicKey.id(of: key.publicKey.rawRepresentation)
    }

    /// Ed25519 (RFC 8032), in base64url.
    func signature(of text: String) throws -> String { Base64URL.encode(try key.signature(for: Data(text.utf8))) }
}

/// The public half of a key, as given to clients.
struct DefinitionPublicKey: Sendable {
    let id: String
    /// 32 bytes.
    let bytes: Data

    /// The key's thumbprint (RFC 7638, RFC 8037 appendix A.3).
    static func id(of bytes: Data) -> String {
        Base64URL.encode(
            SHA256.hash(data: Data(#"{"crv":"Ed25519","kty":"OKP","x":"\#(Base64URL.encode(bytes))"}"#.utf8)))
    }
}

/// The signing keys of apps; the private halves are encrypted (AES-GCM).
struct DefinitionKeyStore: Sendable {
    private let postgres: PostgresClient
    private let sealing: SealingKey

    /// - Parameter internalSecret: The encryption key is derived from it (HKDF, RFC 5869). After a change of the
    ///   secret, new keys are created.
    init(postgres: PostgresClient, internalSecret: Secret) {
        self.postgres = postgres
        sealing = SealingKey(internalSecret: internalSecret, for: "martlet config definition keys")
    }

    /// The app's newest key. Creates one if there is none, or none that this server can decrypt.
    func signer(of appID: String) async throws -> DefinitionSigner {
        try await postgres.withTransaction { transaction in
            // If several instances find no key, only one creates it.
            _ = try await transaction.query("SELECT pg_advisory_xact_lock(7215407, hashtext(\(appID)))")
            let rows = try await transaction.query(
                "SELECT id, sealed_private_key FROM config.definition_keys WHERE app_id = \(appID) ORDER BY created DESC, id"
            )
            for row in rows {
                if let key = try open(row) { return DefinitionSigner(key) }
            }
            let key = Curve25519.Signing.PrivateKey()
            let signer = DefinitionSigner(key)
            let sealed = try sealing.seal(key.rawRepresentation, for: signer.id)
            try await transaction.execute(
                """
                INSERT INTO config.definition_keys (id, app_id, public_key, sealed_private_key)
                VALUES (\(signer.id), \(appID), \(key.publicKey.rawRepresentation), \(sealed))
                """)
            return signer
        }
    }

    /// All keys of the app so far, newest first.
    func publicKeys(of appID: String) async throws -> [DefinitionPublicKey] {
        try await postgres.query(
            "SELECT id, public_key FROM config.definition_keys WHERE app_id = \(appID) ORDER BY created DESC, id"
        )
        .map { DefinitionPublicKey(id: try $0.decode(0), bytes: try $0.decode(1)) }
    }

    /// Nil if the key was encrypted under another internal secret.
    private func open(_ row: PostgresRow) throws -> Curve25519.Signing.PrivateKey? {
        let id: String = try row.decode(0)
        let sealed: Data = try row.decode(1)
        guard let bytes = sealing.open(sealed, for: id) else { return nil }
        return try? Curve25519.Signing.PrivateKey(rawRepresentation: bytes)
    }
}
