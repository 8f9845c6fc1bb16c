public import MartletCore

/// Where mail is handed in (RFC 6409), and as whom.
public struct SMTPServer: Sendable {
    public enum Security: String, Codable, Sendable, CaseIterable {
        /// Encrypted after STARTTLS (RFC 3207), or not at all: where the server does not offer it nothing is sent.
        case startTLS = "starttls"
        /// Encrypted from the first byte (RFC 8314), as on port 465.
        case tls
        /// In clear: for a server on the same machine.
        case off
    }

    public var host: String
    public var port: Int
    public var security: Security
    public var user: String?
    public var password: Secret?
    /// A file with the certificates (PEM) that the server's may be signed by; nil: those of the system.
    public var certificatesFile: String?
    /// Whether it may be at an address that only this machine, or its network, can reach.
    public var isPrivateAddressAllowed: Bool
    public var connectTimeoutInSeconds = 15
    /// For a whole message.
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

    /// Whether `text` can be a host's name or address, and nothing more than that.
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

/// Why a message was not sent. Says nothing of the message.
public enum SMTPError: Error, Sendable, Equatable {
    /// The server refused the message, for good (5yz) or for now (4yz): RFC 5321 §4.2.1.
    case refused(status: Int)
    /// The server refused for good because there is no such mailbox, or none any more, and said so in a way that means
    /// nothing else.
    case noMailbox(status: Int)
    /// The server did not take user and password.
    case notAuthenticated
    /// The server does not offer TLS, or its certificate is not trusted.
    case notSecure
    /// Nobody there, at an address that is not allowed, or too slow. `cause` is libcurl's own sentence.
    case unreachable(cause: String)
    case cancelled

    /// Whether the same message would be refused again.
    public var isFinal: Bool {
        switch self {
        case .refused(let status): (500...599).contains(status)
        case .noMailbox: true
        default: false
        }
    }

    /// For programs, such as the app's server that asks what became of a mail.
    public var code: String {
        switch self {
        case .refused, .noMailbox: "mail-refused"
        default: "mail-failed"
        }
    }

    /// For whoever sent the message.
    public var sentence: String {
        switch self {
        case .refused(let status), .noMailbox(let status): "The mail server answered \(status)."
        default: "The mail server could not be used."
        }
    }
}
