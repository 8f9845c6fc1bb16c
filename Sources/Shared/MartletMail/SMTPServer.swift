public import MartletCore

/// A mail submission server (RFC 6409) and the credentials for it.
public struct SMTPServer: Sendable {
    public enum Security: String, Codable, Sendable, CaseIterable {
        /// Requires STARTTLS (RFC 3207). If the server does not offer it, nothing is sent.
        case startTLS = "starttls"
        /// TLS from the first byte (RFC 8314), as on port 465.
        case tls
        /// Unencrypted, for a server on the same machine.
        case off
    }

    public var host: String
    public var port: Int
    public var security: Security
    public var user: String?
    public var password: Secret?
    /// A PEM file with the trusted CA certificates; nil means those of the system.
    public var certificatesFile: String?
    /// Whether the server may have an address that only this machine or its network can reach.
    public var isPrivateAddressAllowed: Bool
    public var connectTimeoutInSeconds = 15
    /// The limit for a whole message.
    public var timeoutInSeconds = 60

    public init(
        host: String, port: Int, security: Security, user: String? = nil, password: Secret? = nil,
        certificatesFile: String? = nil,
        isPrivateAddressAllowed: Bool = false
    ) {
        self.host = host
        self.port = port
        self.security = security
        self.user = user
        self.password = password
        self.certificatesFile = certificatesFile
        self.isPrivateAddressAllowed = isPrivateAddressAllowed
    }

    /// Whether `text` is syntactically a host name or an IPv4 address.
    public static func isHost(_ text: String) -> Bool {
        guard (1...253).contains(text.utf8.count) else { return false }
        let isName = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
            }
        }
        return isName && !text.hasPrefix("-") && !text.hasPrefix(".")
    }
}

/// Why a message was not sent. Contains no part of the message.
public enum SMTPError: Error, Sendable, Equatable {
    /// The server refused the message permanently (5yz) or temporarily (4yz): RFC 5321 §4.2.1.
    case refused(status: Int)
    /// The server refused permanently and stated unambiguously that the mailbox does not exist (any more).
    case noMailbox(status: Int)
    /// The server did not accept user and password.
    case notAuthenticated
    /// The server does not offer TLS, or its certificate is not trusted.
    case notSecure
    /// The connection failed, timed out, or would go to a forbidden address. `cause` is libcurl's message.
    case unreachable(cause: String)
    case cancelled

    /// Whether sending the same message again would fail the same way.
    public var isFinal: Bool {
        switch self {
        case .refused(let status): (500...599).contains(status)
        case .noMailbox: true
        default: false
        }
    }

    /// A stable code for programs, such as an app's server that checks the status of a mail.
    public var code: String {
        switch self {
        case .refused, .noMailbox: "mail-refused"
        default: "mail-failed"
        }
    }

    /// An explanation for the sender of the message.
    public var sentence: String {
        switch self {
        case .refused(let status), .noMailbox(let status): "The mail server answered \(status)."
        default: "The mail server could not be used."
        }
    }
}
