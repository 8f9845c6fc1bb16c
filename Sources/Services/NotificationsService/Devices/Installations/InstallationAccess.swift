import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Guards installations: only a request with the installation's secret may read or change it by means of an app's keys.
///
/// The header is `Installation-Secret`, because the gateway removes client headers that begin with `X-Martlet-`.
struct InstallationAccess: Sendable {
    static let header = HTTPField.Name("Installation-Secret")!
    /// 32 bytes in base64url.
    private static let secretLength = 43

    let postgres: PostgresClient
    let spaces: Spaces

    /// The installation that a request names by `:id` in its path, with the secret it presented.
    struct Claim: Sendable {
        let id: UUID
        let space: Space
        /// The SHA-256 hash of the secret.
        let digest: SHA256.Digest
    }

    /// Reads the claim of the request, without comparing it with the stored secret.
    ///
    /// - Throws: `invalid-id`; `forbidden` when the secret is missing or malformed, or when the caller is neither the
    ///   app nor its server.
    func claim(_ request: Request, _ context: ServiceContext) async throws -> Claim {
        let principal = try context.principal
        let id = try context.installationID
        guard let secret = request.headers[Self.header], secret.utf8.count == Self.secretLength,
            Base64URL.decode(secret)?.count == 32
        else {
            throw ServiceError(
                .forbidden, "Send the installation's secret, 32 random bytes in base64url: Installation-Secret: ….")
        }
        return Claim(id: id, space: try await spaces.space(of: principal), digest: Credential.digest(of: secret))
    }

    /// The installation in the path, once its secret has been verified.
    ///
    /// - Throws: As `claim`; `installation-not-found`; `forbidden` for a wrong secret.
    func check(_ request: Request, _ context: ServiceContext) async throws -> Claim {
        let claim = try await claim(request, context)
        let rows = try await postgres.query(
            "SELECT secret_digest FROM notifications.installations WHERE space = \(claim.space.id) AND id = \(claim.id)"
        )
        guard let digest: Data = try rows.first?.decode(0) else { throw ServiceError(.installationNotFound) }
        try Self.compare(claim.digest, digest)
        return claim
    }

    /// Compares in constant time.
    ///
    /// - Throws: `forbidden`.
    static func compare(_ digest: SHA256.Digest, _ stored: Data) throws {
        guard digest == stored else { throw ServiceError(.forbidden, "This is not the installation's secret.") }
    }
}

extension ServiceContext {
    /// The `:id` in the path.
    ///
    /// - Throws: `invalid-id`.
    var installationID: UUID {
        get throws { try uuid("id", else: .invalidID, "An installation id must be a UUID.") }
    }
}
