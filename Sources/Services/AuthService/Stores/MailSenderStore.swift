import Crypto
import Foundation
import Logging
import MartletAPI
import MartletMail
import MartletPostgres

/// Whom an app's mail is from, and by which server it goes.
struct MailSender: Sendable {
    /// A mail server of the app's own. Stored sealed, as JSON: keep old shapes readable.
    struct Server: Codable, Sendable, Equatable {
        var host: String
        var port: Int
        var tls: SMTPServer.Security
        var user: String?
        var password: String?
    }

    var address: MailAddress
    /// Nil: the operator's server.
    var server: Server?
}

struct MailSenderStore: Sendable {
    let postgres: PostgresClient
    let sealing: SymmetricKey
    let logger: Logger

    func find(in space: UserSpace) async throws -> MailSender? {
        let row = try await postgres.query(
            "SELECT name, address, sealed_server FROM auth.mail_senders WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue)"
        ).first
        guard let row else { return nil }
        let sealed: Data? = try row.decode(2)
        let address = try MailAddress(name: try row.decode(0), address: try row.decode(1))
        return MailSender(address: address, server: try sealed.map { try open($0, in: space) })
    }

    func replace(_ sender: MailSender, in space: UserSpace) async throws {
        let sealed = try sender.server.map { try AES.GCM.seal(JSONEncoder().encode($0), using: sealing, authenticating: Self.label(space)).combined }
        try await postgres.execute(
            """
            INSERT INTO auth.mail_senders (app_id, environment, name, address, sealed_server)
            VALUES (\(space.appID), \(space.environment.rawValue), \(sender.address.name), \(sender.address.address), \(sealed ?? nil))
            ON CONFLICT (app_id, environment) DO UPDATE SET
                name = excluded.name, address = excluded.address, sealed_server = excluded.sealed_server, updated = now()
            """)
    }

    func remove(in space: UserSpace) async throws {
        try await postgres.execute(
            "DELETE FROM auth.mail_senders WHERE app_id = \(space.appID) AND environment = \(space.environment.rawValue)")
    }

    /// - Throws: when it was sealed under another internal secret: mail waits until the app's server says it again.
    private func open(_ sealed: Data, in space: UserSpace) throws -> MailSender.Server {
        do {
            let plain = try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: sealing, authenticating: Self.label(space))
            return try JSONDecoder().decode(MailSender.Server.self, from: plain)
        } catch {
            logger.error("An app's mail server was sealed under another internal secret: it sends no mail.", metadata: ["app.id": "\(space.appID)"])
            throw error
        }
    }

    private static func label(_ space: UserSpace) -> Data { Data("mail server \(space.appID) \(space.environment.rawValue)".utf8) }
}
