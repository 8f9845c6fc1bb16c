import Foundation
import MartletMail
import MartletPostgres

/// By which server an app's mail goes, and from whom.
struct MailSenders: Sendable {
    /// A server and what is known of it.
    struct Way: Sendable {
        var server: SMTPServer
        /// Perhaps without a name.
        var address: MailAddress
        var bounces: MailAddress
        /// Where answers go, unless the mail says something else.
        var replyTo: MailAddress?
        /// The app's own credential, if it is by its server: when it was stored, and whether something is known against
        /// it.
        var own: (version: Date, isBroken: Bool)?

        /// Where the sender has no name people read the app's.
        func from(_ app: String) -> MailAddress {
            address.name.isEmpty ? (try? MailAddress(name: app, address: address.address)) ?? address : address
        }
    }

    let credentials: PushCredentials
    let settings: MailSettings

    /// Nil: there is no server, or the app's own was sealed under another internal secret.
    func way(of space: Space) async throws -> Way? {
        let own = try await credentials.store.content(SMTPCredential.self, in: space.id)
        if own == nil, try await credentials.store.read(.smtp, in: space.id) != nil { return nil }
        guard let way = settings.way(of: try own?.content.sender, app: "") else { return nil }
        let known = own.flatMap {
            $0.content.server == nil ? nil : (version: $0.stored.updated, isBroken: $0.stored.broken != nil)
        }
        return Way(server: way.server, address: way.from, bounces: way.bounces, replyTo: way.replyTo, own: known)
    }

    /// Shows the app what its server says to its user and password.
    func note(_ error: SMTPError?, _ way: Way, in space: Space) async throws {
        guard let own = way.own else { return }
        if error == .notAuthenticated || error == .notSecure {
            try await credentials.markBroken(.smtp, in: space.id, version: own.version, reason: error?.reason ?? "")
        } else if error == nil, own.isBroken {
            try await credentials.markGood(.smtp, in: space.id)
        }
    }
}

extension SMTPServer {
    /// Tells servers apart, whoever uses them.
    var name: String { "\(host.lowercased()):\(port)" }
}

extension SMTPError {
    /// Whether the server was there, whatever it thinks of the mail.
    var isAnswer: Bool {
        switch self {
        case .refused(let status): status != 421
        case .noMailbox, .notAuthenticated, .notSecure: true
        case .unreachable, .cancelled: false
        }
    }

    /// For the app's record; no more than the mail server's own status in it.
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
