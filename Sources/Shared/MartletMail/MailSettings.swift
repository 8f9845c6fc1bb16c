import Foundation
import MartletCore
public import MartletHTTP

/// The operator's mail settings: the server, and the sender address for apps that do not set their own.
public struct MailSettings: Sendable {
    /// Nil: only apps with their own mail server can send mail.
    public var server: SMTPServer?
    public var from: MailAddress?
    /// The bounce address; nil means the sender of the mail.
    public var bounces: MailAddress?
    /// Domains, besides that of `from`, that apps may use as senders on the operator's server. `*` allows all. Lower
    /// case.
    public var senderDomains: Set<String> = []
    /// Whether apps' own mail servers may have private, loopback or link-local addresses.
    public var arePrivateServersAllowed = false

    public init(server: SMTPServer? = nil, from: MailAddress? = nil, arePrivateServersAllowed: Bool = false) {
        self.server = server
        self.from = from
        self.arePrivateServersAllowed = arePrivateServersAllowed
    }

    /// Reads `mail.host`, `mail.port`, `mail.tls`, `mail.user`, `mail.password`, `mail.certificates`, `mail.from`,
    /// `mail.from.domains`, `mail.bounces` and `mail.private.allowed`.
    ///
    /// - Throws: `SettingsError`.
    public init(_ settings: Settings) throws {
        arePrivateServersAllowed = try settings.flag("mail.private.allowed", default: false)
        guard let host = settings.optionalString("mail.host") else { return }
        guard SMTPServer.isHost(host) else {
            throw SettingsError(key: "mail.host", problem: "must be a host name or an IPv4 address")
        }
        guard
            let security = SMTPServer.Security(
                rawValue: settings.string("mail.tls", default: SMTPServer.Security.startTLS.rawValue))
        else {
            throw SettingsError(key: "mail.tls", problem: "must be starttls, tls or off")
        }
        guard let from = try? MailAddress(parsing: try settings.requiredString("mail.from")) else {
            throw SettingsError(key: "mail.from", problem: "must be an address, such as Shop <no-reply@example.org>")
        }
        if let text = settings.optionalString("mail.bounces") {
            guard let address = try? MailAddress(parsing: text) else {
                throw SettingsError(key: "mail.bounces", problem: "must be an address")
            }
            bounces = address
        }
        senderDomains = Set(settings.list("mail.from.domains").map { $0.lowercased() })
        let user = settings.optionalString("mail.user")
        self.from = from
        server = SMTPServer(
            host: host, port: try settings.integer("mail.port", default: security.defaultPort, in: 1...65_535),
            security: security, user: user,
            password: try user.map { _ in try settings.requiredSecret("mail.password") },
            certificatesFile: settings.optionalString("mail.certificates"), isPrivateAddressAllowed: true)
    }

    /// The server and addresses with which an app's mail is sent.
    public struct Transport: Sendable {
        public var server: SMTPServer
        public var from: MailAddress
        /// The envelope sender, which receives bounces.
        public var bounces: MailAddress
        /// Where replies go; nil means `from`.
        public var replyTo: MailAddress?
    }

    /// Chooses the server and addresses for an app's mail; nil if there is no server.
    ///
    /// On the operator's server an app may use its own address only in a domain that the operator allows. Otherwise its
    /// mail comes from the operator's address and the app's own becomes `replyTo`. This keeps apps from impersonating
    /// others, or from directing bounces to a stranger, at the expense of the operator's reputation.
    public func transport(of sender: MailSender?, app: String) -> Transport? {
        func named(_ address: MailAddress, _ name: String) -> MailAddress {
            (try? MailAddress(name: name, address: address.address)) ?? address
        }
        if let sender, let own = sender.server {
            let from = sender.address.name.isEmpty ? named(sender.address, app) : sender.address
            let server = SMTPServer(
                host: own.host, port: own.port, security: own.tls, user: own.user,
                password: own.password.map { .init($0) },
                isPrivateAddressAllowed: arePrivateServersAllowed)
            return Transport(server: server, from: from, bounces: sender.bounces ?? from)
        }
        guard let server, let ours = from else { return nil }
        let name = sender.map(\.address.name).flatMap { $0.isEmpty ? nil : $0 }
        guard let address = sender?.address, maySend(from: address) else {
            // The operator's display name stays unless the app sets one; without either, use the app's name.
            let from = ours.name.isEmpty ? named(ours, name ?? app) : name.map { named(ours, $0) } ?? ours
            return Transport(server: server, from: from, bounces: bounces ?? from, replyTo: sender?.address)
        }
        let from = named(address, name ?? app)
        return Transport(
            server: server, from: from,
            bounces: sender?.bounces.flatMap { maySend(from: $0) ? $0 : nil } ?? bounces ?? from)
    }

    private func maySend(from address: MailAddress) -> Bool {
        let domain = address.domain.lowercased()
        return domain == from?.domain.lowercased() || senderDomains.contains(domain) || senderDomains.contains("*")
    }
}

extension SMTPServer.Security {
    /// The default port (RFC 6409, RFC 8314). Port 25 is for a server on the same machine.
    var defaultPort: Int {
        switch self {
        case .startTLS: 587
        case .tls: 465
        case .off: 25
        }
    }
}
