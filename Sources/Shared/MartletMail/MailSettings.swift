import Foundation
import MartletCore
public import MartletHTTP

/// The operator's part: by which server mail goes, and whom it is from where an app says nothing else.
public struct MailSettings: Sendable {
    /// Nil: only apps with a mail server of their own send mail.
    public var server: SMTPServer?
    public var from: MailAddress?
    /// Where mail that cannot be delivered goes back to; nil: whom it is from.
    public var bounces: MailAddress?
    /// Whether apps' own mail servers may be at private, loopback and link-local addresses.
    public var arePrivateServersAllowed = false

    public init(server: SMTPServer? = nil, from: MailAddress? = nil, arePrivateServersAllowed: Bool = false) {
        self.server = server
        self.from = from
        self.arePrivateServersAllowed = arePrivateServersAllowed
    }

    /// Reads `mail.host`, `mail.port`, `mail.tls`, `mail.user`, `mail.password`, `mail.certificates`, `mail.from`, `mail.bounces` and
    /// `mail.private.allowed`.
    ///
    /// - Throws: `SettingsError`.
    public init(_ settings: Settings) throws {
        arePrivateServersAllowed = try settings.flag("mail.private.allowed", default: false)
        guard let host = settings.optionalString("mail.host") else { return }
        guard SMTPServer.isHost(host) else { throw SettingsError(key: "mail.host", problem: "must be a host's name or IPv4 address") }
        guard let security = SMTPServer.Security(rawValue: settings.string("mail.tls", default: SMTPServer.Security.startTLS.rawValue)) else {
            throw SettingsError(key: "mail.tls", problem: "must be starttls, tls or off")
        }
        guard let from = try? MailAddress(parsing: try settings.requiredString("mail.from")) else {
            throw SettingsError(key: "mail.from", problem: "must be an address, such as Shop <no-reply@example.org>")
        }
        if let text = settings.optionalString("mail.bounces") {
            guard let address = try? MailAddress(parsing: text) else { throw SettingsError(key: "mail.bounces", problem: "must be an address") }
            bounces = address
        }
        let user = settings.optionalString("mail.user")
        self.from = from
        server = SMTPServer(
            host: host, port: try settings.integer("mail.port", default: security.usualPort, in: 1...65_535), security: security, user: user,
            password: try user.map { _ in try settings.requiredSecret("mail.password") },
            certificatesFile: settings.optionalString("mail.certificates"), isPrivateAddressAllowed: true)
    }

    /// By which server, and from whom, an app's mail goes, and where what cannot be delivered goes back to.
    public func way(of sender: MailSender?, app: String) -> (server: SMTPServer, from: MailAddress, bounces: MailAddress)? {
        guard let address = sender?.address ?? from else { return nil }
        // The operator's address says the app's name, unless it has one of its own.
        let from = address.name.isEmpty ? (try? MailAddress(name: app, address: address.address)) ?? address : address
        guard let own = sender?.server else { return server.map { ($0, from, sender?.bounces ?? bounces ?? from) } }
        let server = SMTPServer(
            host: own.host, port: own.port, security: own.tls, user: own.user, password: own.password.map { .init($0) },
            isPrivateAddressAllowed: arePrivateServersAllowed)
        return (server, from, sender?.bounces ?? from)
    }
}

extension SMTPServer.Security {
    /// RFC 6409, RFC 8314; 25 is for a server on the same machine.
    var usualPort: Int {
        switch self {
        case .startTLS: 587
        case .tls: 465
        case .off: 25
        }
    }
}
