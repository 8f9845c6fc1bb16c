import MartletAPI
import MartletCore
public import MartletHTTP

/// The sender address of an app's mail and, if the app has one, its own mail server.
public struct MailSender: Sendable, Equatable {
    /// The app's own mail server. Stored encrypted as JSON: keep old shapes readable.
    public struct Server: Codable, Sendable, Equatable {
        public var host: String
        public var port: Int
        public var tls: SMTPServer.Security
        public var user: String?
        public var password: String?

        public init(host: String, port: Int, tls: SMTPServer.Security, user: String? = nil, password: String? = nil) {
            self.host = host
            self.port = port
            self.tls = tls
            self.user = user
            self.password = password
        }
    }

    public var address: MailAddress
    /// Nil means the operator's server.
    public var server: Server?
    /// The bounce address. Nil means the operator's setting, or else `address`.
    public var bounces: MailAddress?

    public init(address: MailAddress, server: Server? = nil, bounces: MailAddress? = nil) {
        self.address = address
        self.server = server
        self.bounces = bounces
    }

    /// The fields that `init(_:)` reads from a body, except `bounceAddress`.
    public static let fields: Set<String> = ["name", "address", "host", "port", "tls", "user", "password"]

    /// Reads `address` and the optional `name` and `bounceAddress`. For the app's own mail server, reads `host` and the
    /// optional `tls` (`starttls` by default, `tls` or `off`), `port`, `user` and `password`.
    ///
    /// - Throws: `invalid-body` that names the field.
    public init(_ fields: BodyFields) throws {
        let name = try fields.string("name") ?? ""
        guard name.unicodeScalars.count <= MailAddress.maximumNameLength else {
            throw ServiceError(
                .invalidBody, "Expected at most \(MailAddress.maximumNameLength) characters.", field: "name")
        }
        let email = try EmailAddress(try fields.requiredString("address"), field: "address")
        address = try MailAddress(name: name, address: email.text)
        bounces = try fields.string("bounceAddress").map {
            try MailAddress(address: try EmailAddress($0, field: "bounceAddress").text)
        }
        server = try Self.server(fields)
    }

    private static func server(_ fields: BodyFields) throws -> Server? {
        guard let host = try fields.string("host") else {
            for name in ["port", "tls", "user", "password"] where fields[name] != nil && fields[name] != .null {
                throw ServiceError(.invalidBody, "This is allowed only together with host.", field: name)
            }
            return nil
        }
        guard SMTPServer.isHost(host) else {
            throw ServiceError(.invalidBody, "Expected a host name or an IPv4 address.", field: "host")
        }
        guard let tls = SMTPServer.Security(rawValue: try fields.string("tls") ?? SMTPServer.Security.startTLS.rawValue)
        else {
            throw ServiceError(.invalidBody, "Expected starttls, tls or off.", field: "tls")
        }
        let port = try fields.integer("port", in: 1...65_535) ?? tls.defaultPort
        let (user, password) = (try fields.string("user"), try fields.string("password"))
        guard (user == nil) == (password == nil) else {
            throw ServiceError(.invalidBody, "Give both user and password, or neither.", field: "password")
        }
        for (text, field) in [(user ?? "", "user"), (password ?? "", "password")]
        where text.utf8.count > 1_024 || text.utf8.contains(where: { $0 < 0x20 }) {
            throw ServiceError(
                .invalidBody, "Expected at most 1024 bytes and no control characters.", field: field)
        }
        guard tls != .off || password == nil else {
            throw ServiceError(.invalidBody, "A password requires starttls or tls.", field: "tls")
        }
        return Server(host: host, port: port, tls: tls, user: user, password: password)
    }
}
