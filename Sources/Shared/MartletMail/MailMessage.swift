import Crypto
public import Foundation
import MartletCore

/// A message to one recipient (RFC 5322): plain text, with an HTML form of the same if there is one (RFC 2046 §5.1.4).
///
/// Every header is made of typed values, each on a line of its own by `MailHeader`: no value can add another one.
public struct MailMessage: Sendable {
    public var from: MailAddress
    public var to: MailAddress
    public var replyTo: MailAddress?
    public var subject: String
    public var text: String
    public var html: String?
    /// Where a reader goes to get no more of these (RFC 2369). Control characters and blanks in it are percent-encoded.
    public var unsubscribeURL: URL?
    /// Whether a POST to it does so at once (RFC 8058).
    public var isOneClick = false
    /// Where it goes back to when it cannot be delivered: the sender of the envelope, which is no header; nil: `from`.
    public var bounces: MailAddress?
    public var date: Date
    /// Left of the `@` in Message-ID.
    public var id: String

    public init(
        from: MailAddress, to: MailAddress, subject: String, text: String, html: String? = nil, date: Date = Date()
    ) {
        self.from = from
        self.to = to
        self.subject = subject
        self.text = text
        self.html = html
        self.date = date
        id = UUIDv7.make()
    }

    /// The message as it is sent: ASCII with lines of at most 998 bytes (but for addresses with other letters, RFC
    /// 6532), ended by CRLF.
    public func bytes() -> [UInt8] {
        var lines = [
            MailHeader.address("From", from), MailHeader.address("To", to), MailHeader.text("Subject", subject),
            "Date: " + MailHeader.date(date), "Message-ID: <\(id)@\(from.domain)>", "MIME-Version: 1.0",
            // No holiday notices, please (RFC 3834 §5).
            "Auto-Submitted: auto-generated",
        ]
        if let replyTo { lines.append(MailHeader.address("Reply-To", replyTo)) }
        if let unsubscribeURL { lines.append("List-Unsubscribe: <\(MailHeader.uri(unsubscribeURL.absoluteString))>") }
        if unsubscribeURL != nil, isOneClick { lines.append("List-Unsubscribe-Post: List-Unsubscribe=One-Click") }
        if let html {
            let boundary = "martlet-" + SymmetricKey(size: .bits128).withUnsafeBytes { Base64URL.encode($0) }
            lines.append("Content-Type: multipart/alternative;\r\n boundary=\"\(boundary)\"")
            lines +=
                ["", "--" + boundary] + Self.part(text, "plain") + ["--" + boundary] + Self.part(html, "html") + [
                    "--\(boundary)--", "",
                ]
        } else {
            lines += Self.part(text, "plain") + [""]
        }
        return Array(lines.joined(separator: "\r\n").utf8)
    }

    private static func part(_ text: String, _ subtype: String) -> [String] {
        [
            "Content-Type: text/\(subtype); charset=utf-8", "Content-Transfer-Encoding: quoted-printable", "",
            QuotedPrintable.encode(text),
        ]
    }
}
