import Foundation
import MartletMail
import MartletPostgres

/// By which server an app's mail goes, and from whom.
struct MailSenders: Sendable {
    /// A server and what is known of it.
    struct Way: Sendable {
        var server: SMTPServer
        var from: MailAddress
        var bounces: MailAddress
        /// The app's own credential, if it is by its server: when it was stored, and whether something is known against it.
        var own: (version: Date, isBroken: Bool)?
    }

    let credentials: PushCredentials
    let settings: MailSettings

    /// Nil: there is no server, or the app's own was sealed under another internal secret.
    ///
    /// - Parameter app: its name, which people read where the sender has none.
    func way(of space: Space, app: String) async throws -> Way? {
        let own = try await credentials.store.content(SMTPCredential.self, in: space.id)
        if own == nil, try await credentials.store.read(.smtp, in: space.id) != nil { return nil }
        guard let way = settings.way(of: try own?.content.sender, app: app) else { return nil }
        let known = own.flatMap { $0.content.server == nil ? nil : (version: $0.stored.updated, isBroken: $0.stored.broken != nil) }
        return Way(server: way.server, from: way.from, bounces: way.bounces, own: known)
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

extension SMTPError {
    /// For the app's record; no more than the mail server's own status in it.
    var reason: String {
        switch self {
        case .refused(let status): "refused \(status)"
        case .notAuthenticated: "user and password were refused"
        case .notSecure: "no TLS, or a certificate that is not trusted"
        case .unreachable: "not reached"
        case .cancelled: "cancelled"
        }
    }
}
