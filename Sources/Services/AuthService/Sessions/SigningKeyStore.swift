import Crypto
import CryptoExtras
import Foundation
import MartletCore
import MartletPostgres

/// A signing key as stored.
struct StoredSigningKey: Equatable {
    let id: String
    let publicKey: Data
    /// Nil if it was encrypted under another internal secret.
    let privateKey: Data?
    let signsFrom: Date
    var expires: Date?

    /// A new ES256 key.
    static func makeES256(signsFrom: Date) -> StoredSigningKey {
        let key = P256.Signing.PrivateKey()
        return make(publicKey: key.publicKey.x963Representation, privateKey: key.rawRepresentation, signsFrom)
    }

    /// A new RS256 key. Takes about 100 ms to make.
    static func makeRS256(signsFrom: Date) throws -> StoredSigningKey {
        let key = try _RSA.Signing.PrivateKey(keySize: .init(bitCount: RSATokenSigner.keySizeInBits))
        return make(publicKey: key.publicKey.derRepresentation, privateKey: key.derRepresentation, signsFrom)
    }

    private static func make(publicKey: Data, privateKey: Data, _ signsFrom: Date) -> StoredSigningKey {
        let id = Base64URL.encode(SymmetricKey(size: .bits128).withUnsafeBytes(Array.init))
        return StoredSigningKey(
            id: id, publicKey: publicKey, privateKey: privateKey, signsFrom: signsFrom, expires: nil)
    }
}

struct SigningKeyStore: Sendable {
    /// A kind of signing key. Keys of one kind are never used as another.
    struct Kind: Sendable {
        let table: PostgresQuery
        /// Creates a key that signs from the given time on.
        let make: @Sendable (Date) throws -> StoredSigningKey

        /// ES256, for access tokens and for the ID tokens of clients that are registered with ES256.
        static let accessTokens = Kind(table: "auth.signing_keys", make: StoredSigningKey.makeES256)
        /// RS256, for ID tokens only.
        static let idTokens = Kind(table: "auth.id_token_keys", make: StoredSigningKey.makeRS256)
    }

    let postgres: PostgresClient
    let sealing: SealingKey
    var kind = Kind.accessTokens

    /// Lends all keys to `body`, ordered by the time from which they sign, and stores the changes that `body` makes.
    /// Only one instance of the service at a time can hold the keys.
    func withKeys<Result: Sendable>(_ body: @Sendable (inout [StoredSigningKey]) throws -> Result) async throws
        -> Result
    {
        try await postgres.withTransaction { transaction in
            try await transaction.execute("LOCK TABLE \(kind.table) IN SHARE ROW EXCLUSIVE MODE")
            let before = try await transaction.query(
                "SELECT id, public_key, sealed_private_key, signs_from, expires FROM \(kind.table) ORDER BY signs_from, id"
            ).map(key)
            var keys = before
            let result = try body(&keys)
            for key in keys where !before.contains(key) { try await save(key, transaction) }
            for key in before where !keys.contains(where: { $0.id == key.id }) {
                try await transaction.execute("DELETE FROM \(kind.table) WHERE id = \(key.id)")
            }
            return result
        }
    }

    private func key(_ row: PostgresRow) throws -> StoredSigningKey {
        let id: String = try row.decode(0)
        let sealed: Data = try row.decode(2)
        return StoredSigningKey(
            id: id, publicKey: try row.decode(1),
            privateKey: sealing.open(sealed, for: id),
            signsFrom: try row.decode(3), expires: try row.decode(4))
    }

    private func save(_ key: StoredSigningKey, _ transaction: PostgresTransaction) async throws {
        guard let sealed = try key.privateKey.map({ try sealing.seal($0, for: key.id) }) else {
            // Encrypted under another secret, so only its expiry can have changed.
            try await transaction.execute("UPDATE \(kind.table) SET expires = \(key.expires) WHERE id = \(key.id)")
            return
        }
        try await transaction.execute(
            """
            INSERT INTO \(kind.table) AS k (id, public_key, sealed_private_key, signs_from, expires)
            VALUES (\(key.id), \(key.publicKey), \(sealed), \(key.signsFrom), \(key.expires))
            ON CONFLICT (id) DO UPDATE SET expires = excluded.expires
            """)
    }
}
