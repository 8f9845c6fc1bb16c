import Foundation
import MartletMail
import MartletPostgres

/// Chooses the mail server and the sender of an app's mail.
struct MailSenders: Sendable {
    /// A server with the sender addresses and the state of its credential.
    struct Transport: Sendable {
        var server: SMTPServer
        /// May lack a display name.
        var address: MailAddress
        var bounces: MailAddress
        /// Where replies go, unless the mail names another address.
        var replyTo: MailAddress?
        /// The app's own credential, if its server is used: when it was stored, and whether it is marked as broken.
        var own: (version: Date, isBroken: Bool)?

        /// The sender with the app's name, if it has no display name.
        func from(_ app: String) -> MailAddress {
            address.name.isEmpty ? (try? MailAddress(name: app, address: address.address)) ?? address : address
        }
    }

    let credentials: PushCredentials
    let settings: MailSettings

    /// Nil when there is no server, or when the app's own was encrypted under another internal secret.
    func transport(of space: Space) async throws -> Transport? {
        let own = try await credentials.store.content(SMTPCredential.self, in: space.id)
        if own == nil, try await credentials.store.read(.smtp, in: space.id) != nil { return nil }
        guard let transport = settings.transport(of: try own?.content.sender, app: "") else { return nil }
        let known = own.flatMap {
            $0.content.server == nil ? nil : (version: $0.stored.updated, isBroken: $0.stored.broken != nil)
        }
        return Transport(
            server: transport.server, address: transport.from, bounces: transport.bounces, replyTo: transport.replyTo,
            own: known)
    }

    /// Marks the app's credential as broken or good, depending on the server's answer to it.
    func record(_ error: SMTPError?, _ transport: Transport, in space: Space) async throws {
        guard let own = transport.own else { return }
        if error == .notAuthenticated || error == .notSecure {
            try await credentials.markBroken(.smtp, in: space.id, version: own.version, reason: error?.reason ?? "")
        } else if error == nil, own.isBroken {
            try await credentials.markGood(.smtp, in: space.id)
        }
    }
}

extension SMTPServer {
    /// Identifies a server across apps.
    var name: String { "\(host.lowercased()):\(port)" }
}

extension SMTPError {
    /// Whether the server answered, even with a refusal.
    var isAnswer: Bool {
        switch self {
        case .refused(let status): status != 421
        case .noMailbox, .notAuthenticated, .notSecure: true
        case .unreachable, .cancelled: false
        }
    }

    /// The reason in the app's record. Contains nothing from the server but its status.
    var reason: String {
        switch self {
        case .refused(let status), .noMailbox(let status): "refused \(status)"
        case .notAuthenticated: "user and password were refused"
        case .notSecure: "no TLS, or a certificate that is not trusted"
        case .unreachable: "not reached"
        case .cancelled: "cancelled"
        }
    }
}
