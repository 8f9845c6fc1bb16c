import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// The installations of apps on devices.
struct InstallationStore: Sendable {
    /// The limit per user. A further one signs out the installation that was not seen for the longest time.
    static let maximumPerUser = 50

    let postgres: PostgresClient
    let now: @Sendable () -> Date

    func read(_ id: UUID, in space: Int32) async throws -> Installation? {
        try await postgres.query(
            "SELECT \(Installation.columns) FROM notifications.installations AS i WHERE i.space = \(space) AND i.id = \(id)"
        ).first.map { try Installation($0) }
    }

    /// The push address of the installation; nil if it has no token.
    ///
    /// - Throws: `installation-not-found`.
    func device(_ id: UUID, in space: Int32) async throws -> Device? {
        let rows = try await postgres.query(
            "SELECT i.token IS NULL, \(Device.columns) FROM notifications.installations AS i WHERE i.space = \(space) AND i.id = \(id)"
        )
        guard let row = rows.first else { throw ServiceError(.installationNotFound) }
        return try row.decode(0) ? nil : Device(row, from: 1)
    }

    /// Changes an installation after verifying its secret, or creates it.
    ///
    /// Runs in one transaction. Another installation with the same token is deleted: it is the same app on the same
    /// device before a reinstallation.
    ///
    /// - Parameters:
    ///   - hasToken: Whether the token was registered now, even if it is unchanged.
    ///   - making: The platform of a new installation; nil if none may be created.
    /// - Throws: `installation-not-found` when there is none and none may be created; `forbidden` for a wrong secret;
    ///   errors of `body`; `invalid-body` for values that PostgreSQL cannot store, such as U+0000.
    func change(
        _ claim: InstallationAccess.Claim, hasToken: Bool, making: Platform? = nil,
        _ body: (inout Installation) throws -> Void
    ) async throws -> (installation: Installation, isNew: Bool) {
        do {
            return try await postgres.withTransaction(serializationRetries: 3) { transaction in
                let known = try await Self.locked(claim, transaction)
                guard var installation = known ?? making.map({ Installation(id: claim.id, platform: $0, at: now()) })
                else {
                    throw ServiceError(.installationNotFound)
                }
                try body(&installation)
                if let push = installation.push,
                    push.token != known?.push?.token || push.service != known?.push?.service
                {
                    try await Self.takeToken(push, for: claim, transaction)
                }
                let stored = try await Self.store(installation, claim, hasToken: hasToken, transaction)
                // PostgreSQL expands numbers: 1e300 is stored with 301 digits.
                guard stored.attributes.text.utf8.count <= InstallationFields.maximumAttributesSizeInBytes else {
                    throw ServiceError(
                        .invalidBody,
                        "Expected at most \(InstallationFields.maximumAttributesSizeInBytes) bytes, counting numbers without exponents.",
                        field: "attributes")
                }
                if let user = stored.userID, user != known?.userID {
                    try await Self.signOutOldest(of: user, except: stored.id, in: claim.space, transaction)
                }
                return (stored, known == nil)
            }
        } catch let error as PostgresError where error.sqlState?.hasPrefix("22") == true {
            throw ServiceError(
                .invalidBody, "A value cannot be stored, for example text with U+0000.", cause: "\(error)")
        }
    }

    /// Deletes the installation. Idempotent.
    func delete(_ id: UUID, in space: Int32) async throws -> Bool {
        try await postgres.execute("DELETE FROM notifications.installations WHERE space = \(space) AND id = \(id)") > 0
    }

    private static func locked(_ claim: InstallationAccess.Claim, _ transaction: PostgresTransaction) async throws
        -> Installation?
    {
        let rows = try await transaction.query(
            """
            SELECT \(Installation.columns), i.secret_digest FROM notifications.installations AS i
            WHERE i.space = \(claim.space.id) AND i.id = \(claim.id) FOR UPDATE
            """)
        guard let row = rows.first else { return nil }
        try InstallationAccess.compare(claim.digest, try row.decode(Installation.columnCount))
        return try Installation(row)
    }

    /// Deletes other installations with the token. The lock keeps concurrent requests from taking the same token.
    private static func takeToken(
        _ push: PushAddress, for claim: InstallationAccess.Claim, _ transaction: PostgresTransaction
    ) async throws {
        let place = "martlet.notifications.token \(claim.space.id) \(push.service.rawValue) \(push.token)"
        try await transaction.execute("SELECT pg_advisory_xact_lock(hashtextextended(\(place), 0))")
        try await transaction.execute(
            """
            DELETE FROM notifications.installations
            WHERE space = \(claim.space.id) AND service = \(push.service.rawValue) AND md5(token) = md5(\(push.token)) AND token IS NOT NULL AND id <> \(claim.id)
            """)
    }

    private static func store(
        _ it: Installation, _ claim: InstallationAccess.Claim, hasToken: Bool, _ transaction: PostgresTransaction
    ) async throws -> Installation {
        let service = it.push?.service ?? it.platform.services.first ?? .fcm
        let registered: PostgresQuery =
            it.push == nil ? "NULL::timestamptz" : hasToken ? "now()" : "\(it.tokenRegistered)"
        // No row is returned if a concurrent first request stored another secret; this caller's secret is then the
        // wrong one.
        let rows = try await transaction.query(
            """
            INSERT INTO notifications.installations AS i (space, id, secret_digest, platform, service, is_sandbox, token, public_key, auth_secret, bundle_id,
                token_registered, user_id, session_id, app_version, os_version, device_model, locale, time_zone, badge, channels, attributes)
            VALUES (\(claim.space.id), \(claim.id), \(Data(claim.digest)), \(it.platform.rawValue), \(service.rawValue), \(it.push?.isSandbox ?? false),
                \(it.push?.token), \(it.push?.publicKey), \(it.push?.authSecret), \(it.push?.bundleID), \(registered), \(it.userID), \(it.sessionID), \(it.appVersion),
                \(it.osVersion), \(it.deviceModel), \(it.locale), \(it.timeZone), \(Int32(it.badge)), \(it.channels), \(PostgresJSON(it.attributes.text)))
            ON CONFLICT (space, id) DO UPDATE SET platform = excluded.platform, service = excluded.service, is_sandbox = excluded.is_sandbox,
                token = excluded.token, public_key = excluded.public_key, auth_secret = excluded.auth_secret, bundle_id = excluded.bundle_id,
                token_registered = excluded.token_registered, user_id = excluded.user_id, session_id = excluded.session_id, app_version = excluded.app_version,
                os_version = excluded.os_version, device_model = excluded.device_model, locale = excluded.locale, time_zone = excluded.time_zone,
                badge = excluded.badge, channels = excluded.channels, attributes = excluded.attributes, updated = now(), seen = now()
            WHERE i.secret_digest = excluded.secret_digest
            RETURNING \(Installation.columns)
            """)
        guard let row = rows.first else { throw ServiceError(.forbidden, "This is not the installation's secret.") }
        return try Installation(row)
    }

    private static func signOutOldest(
        of user: String, except id: UUID, in space: Space, _ transaction: PostgresTransaction
    ) async throws {
        try await transaction.execute(
            """
            UPDATE notifications.installations SET user_id = NULL, session_id = NULL, updated = now() WHERE space = \(space.id) AND id IN (
                SELECT id FROM notifications.installations WHERE space = \(space.id) AND user_id = \(user) AND id <> \(id)
                ORDER BY seen DESC, id OFFSET \(maximumPerUser - 1))
            """)
    }
}
