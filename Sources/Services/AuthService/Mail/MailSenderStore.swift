import Foundation
import Logging
import MartletAPI
import MartletCore
import MartletMail
import MartletPostgres

struct MailSenderStore: Sendable {
    let postgres: PostgresClient
    let sealing: SealingKey
    let logger: Logger

    func find(in space: AppSpace) async throws -> MailSender? {
        let row = try await postgres.query(
            "SELECT name, address, sealed_server FROM auth.mail_senders WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue)"
        ).first
        guard let row else { return nil }
        let sealed: Data? = try row.decode(2)
        let address = try MailAddress(name: try row.decode(0), address: try row.decode(1))
        return MailSender(address: address, server: try sealed.map { try open($0, in: space) })
    }

    func replace(_ sender: MailSender, in space: AppSpace) async throws {
        let sealed = try sender.server.map { try sealing.seal(value: $0, for: Self.label(space)) }
        try await postgres.execute(
            """
            INSERT INTO auth.mail_senders (app_id, environment, name, address, sealed_server)
            VALUES (\(space.appID), \(space.environment.rawValue), \(sender.address.name), \(sender.address.address), \(sealed))
            ON CONFLICT (app_id, environment) DO UPDATE SET
                name = excluded.name, address = excluded.address, sealed_server = excluded.sealed_server, updated = now()
            """)
    }

    func remove(in space: AppSpace) async throws {
        try await postgres.execute(
            "DELETE FROM auth.mail_senders WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue)"
        )
    }

    /// - Throws: `DecryptionFailed` if the settings were encrypted under another internal secret. Mail then waits until
    ///   they are set again.
    private func open(_ sealed: Data, in space: AppSpace) throws -> MailSender.Server {
        guard let server: MailSender.Server = sealing.value(in: sealed, for: Self.label(space)) else {
            logger.error(
                "Could not decrypt an app's mail server settings, because the internal secret has changed; its mail waits until they are set again.",
                metadata: ["app.id": "\(space.appID)"])
            throw DecryptionFailed()
        }
        return server
    }

    private struct DecryptionFailed: Error {}

    private static func label(_ space: AppSpace) -> String {
        "mail server \(space.appID) \(space.environment.rawValue)"
    }
}
