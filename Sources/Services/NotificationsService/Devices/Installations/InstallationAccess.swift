import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The door of an installation: who shows its secret may read and change it, nobody else does by an app's keys.
///
/// The header is `Installation-Secret`: the gateway lets none pass that begins with `X-Martlet-`.
struct InstallationAccess: Sendable {
    static let header = HTTPField.Name("Installation-Secret")!
    /// 32 bytes in base64url.
    private static let secretLength = 43

    let postgres: PostgresClient
    let spaces: Spaces

    /// Whose installation a request is about: `:id` of its path, with the secret it showed.
    struct Claim: Sendable {
        let id: UUID
        let space: Space
        /// SHA-256 of the secret.
        let digest: SHA256.Digest
    }

    /// What the request says, not yet compared with what is stored.
    ///
    /// - Throws: `invalid-id`; `forbidden` where the secret is missing or cannot be one, or for who is neither the app
    ///   nor its server.
    func claim(_ request: Request, _ context: ServiceContext) async throws -> Claim {
        let principal = try context.principal
        guard principal.kind == .client || principal.kind == .master else { throw HTTPProblem(.forbidden) }
        let id = try context.installationID
        guard let secret = request.headers[Self.header], secret.utf8.count == Self.secretLength,
            Base64URL.decode(secret)?.count == 32
        else {
            throw HTTPProblem(
                .forbidden, "Send the installation's secret, 32 random bytes in base64url: Installation-Secret: ….")
        }
        return Claim(id: id, space: try await spaces.space(of: principal), digest: Credential.digest(of: secret))
    }

    /// The installation of the path, when its secret was shown.
    ///
    /// - Throws: as `claim`; `installation-not-found`; `forbidden` for another secret.
    func check(_ request: Request, _ context: ServiceContext) async throws -> Claim {
        let claim = try await claim(request, context)
        let rows = try await postgres.query(
            "SELECT secret_digest FROM notifications.installations WHERE space = \(claim.space.id) AND id = \(claim.id)"
        )
        guard let digest: Data = try rows.first?.decode(0) else { throw HTTPProblem(.installationNotFound) }
        try Self.compare(claim.digest, digest)
        return claim
    }

    /// In a time that does not tell how much is equal.
    ///
    /// - Throws: `forbidden`.
    static func compare(_ digest: SHA256.Digest, _ stored: Data) throws {
        guard digest == stored else { throw HTTPProblem(.forbidden, "This is not the installation's secret.") }
    }
}

extension ServiceContext {
    /// `:id` of the path.
    ///
    /// - Throws: `invalid-id`.
    var installationID: UUID {
        get throws {
            guard let id = parameters.get("id").flatMap({ UUID(uuidString: $0) }) else {
                throw HTTPProblem(.invalidID, "An installation's id is a UUID.")
            }
            return id
        }
    }
}
