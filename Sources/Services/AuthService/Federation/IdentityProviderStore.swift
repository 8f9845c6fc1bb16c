import Foundation
import Logging
import MartletAPI
import MartletCore
import MartletPostgres

/// A provider with its name in the app and its secret.
struct RegisteredProvider: Sendable {
    var name: String
    var settings: IdentityProvider
    /// The client secret, or Apple's private key.
    var secret: Secret?
    /// The path of the gateway to which the provider returns users; nil if the code flow is not available.
    var callbackPath: String?
}

extension AppSpace {
    /// The server's staff, in place of an app's users. No app has an empty id.
    static let staff = AppSpace(appID: "", environment: .live)
}

/// The identity providers of apps.
struct IdentityProviderStore: Sendable {
    static let maximumPerSpace = 20

    let postgres: PostgresClient
    let key: SealingKey
    let logger: Logger

    /// Ordered by name.
    func list(in space: AppSpace) async throws -> [RegisteredProvider] {
        try await postgres.query(
            "SELECT name, configuration, sealed_secret FROM auth.identity_providers WHERE \(Self.isIn(space)) ORDER BY name LIMIT \(Self.maximumPerSpace)"
        ).map { try provider($0, in: space) }
    }

    func find(_ name: String, in space: AppSpace) async throws -> RegisteredProvider? {
        try await postgres.query(Self.selection(of: name, in: space)).first.map { try provider($0, in: space) }
    }

    static func selection(of name: String, in space: AppSpace) -> PostgresQuery {
        "SELECT name, configuration, sealed_secret FROM auth.identity_providers WHERE \(isIn(space)) AND name = \(name)"
    }

    /// Creates or replaces a provider. If the secret is left out, the former one is kept as long as the kind stays the
    /// same.
    ///
    /// - Returns: The provider in its new state; nil if there are too many.
    func save(_ name: String, _ settings: IdentityProvider, secret: Secret?, in space: AppSpace) async throws
        -> RegisteredProvider?
    {
        try await postgres.query(try upsert(of: name, settings, secret: secret, in: space)).first.map {
            try provider($0, in: space)
        }
    }

    func upsert(of name: String, _ settings: IdentityProvider, secret: Secret?, in space: AppSpace) throws
        -> PostgresQuery
    {
        let configuration = PostgresJSON(Array(try JSONEncoder().encode(settings)))
        let sealed = try secret?.withValue { try key.seal(value: [$0], for: Self.purpose(name, space)) }
        return """
            INSERT INTO auth.identity_providers AS p (app_id, environment, name, configuration, sealed_secret)
            SELECT \(space.appID), \(space.environment.rawValue), \(name), \(configuration), \(sealed)
            WHERE (SELECT count(*) FROM auth.identity_providers WHERE \(Self.isIn(space)) AND name <> \(name)) < \(Self.maximumPerSpace)
            ON CONFLICT (app_id, environment, name) DO UPDATE SET configuration = excluded.configuration, updated = now(),
                sealed_secret = coalesce(
                    excluded.sealed_secret, CASE WHEN p.configuration->'kind' = excluded.configuration->'kind' THEN p.sealed_secret END)
            RETURNING name, configuration, sealed_secret
            """
    }

    /// Deletes a provider. Users keep their identities at the provider but cannot sign in with them until the provider
    /// is set up again.
    func delete(_ name: String, in space: AppSpace) async throws -> Bool {
        try await postgres.execute(Self.deletion(of: name, in: space)) > 0
    }

    static func deletion(of name: String, in space: AppSpace) -> PostgresQuery {
        "DELETE FROM auth.identity_providers WHERE \(isIn(space)) AND name = \(name)"
    }

    /// Whether the text is a valid app key of the space.
    func isAppKey(_ text: String, in space: AppSpace) async throws -> Bool {
        try await !postgres.query(
            """
            SELECT FROM auth.credentials WHERE sha256 = \(Credential.hexDigest(of: text)) AND kind = 'client' AND \(Self.isIn(space))
                AND revoked IS NULL AND (expires IS NULL OR expires > now())
            """
        ).isEmpty
    }

    func provider(_ row: PostgresRow, in space: AppSpace) throws -> RegisteredProvider {
        let (name, configuration, sealed): (String, PostgresJSON, Data?) = (
            try row.decode(0), try row.decode(1), try row.decode(2)
        )
        var secret: Secret?
        if let sealed {
            secret = key.value([String].self, in: sealed, for: Self.purpose(name, space))?.first.map(Secret.init)
            if secret == nil {
                logger.error(
                    "Could not decrypt an identity provider's secret, because the internal secret has changed; set the provider's secret again.",
                    metadata: ["app.id": "\(space.appID)", "provider.name": "\(name)"])
            }
        }
        let settings = try JSONDecoder().decode(IdentityProvider.self, from: Data(configuration.bytes))
        let callbackPath =
            space == .staff ? "/admin/auth/oidc/callback" : settings.appKey.map { "/api/\($0)/auth/oauth/callback" }
        return RegisteredProvider(name: name, settings: settings, secret: secret, callbackPath: callbackPath)
    }

    private static func purpose(_ name: String, _ space: AppSpace) -> String {
        "provider \(space.appID) \(space.environment.rawValue) \(name)"
    }

    private static func isIn(_ space: AppSpace) -> PostgresQuery {
        "app_id = \(space.appID) AND environment = \(space.environment.rawValue)"
    }
}
