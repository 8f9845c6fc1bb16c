import Crypto
public import Foundation
import MartletCore

/// A message to one recipient (RFC 5322): plain text, optionally with an HTML alternative (RFC 2046 §5.1.4).
///
/// `MailHeader` builds each header line from a typed value, so no value can inject another header.
public struct MailMessage: Sendable {
    public var from: MailAddress
    public var to: MailAddress
    public var replyTo: MailAddress?
    public var subject: String
    public var text: String
    public var html: String?
    /// Where the recipient can unsubscribe (RFC 2369). Control characters and spaces are percent-encoded.
    public var unsubscribeURL: URL?
    /// Whether a POST to `unsubscribeURL` unsubscribes at once (RFC 8058).
    public var unsubscribesWithOneClick = false
    /// The envelope sender, which receives bounces. It is not a header; nil means `from`.
    public var bounces: MailAddress?
    public var date: Date
    /// The part of the Message-ID before the `@`.
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

    /// Serializes the message as ASCII lines of at most 998 bytes, each ended by CRLF. Internationalized addresses are
    /// the only non-ASCII part (RFC 6532).
    public func bytes() -> [UInt8] {
        var lines = [
            MailHeader.address("From", from), MailHeader.address("To", to), MailHeader.text("Subject", subject),
            "Date: " + MailHeader.date(date), "Message-ID: <\(id)@\(from.domain)>", "MIME-Version: 1.0",
            // Ask automatic responders not to reply (RFC 3834 §5).
            "Auto-Submitted: auto-generated",
        ]
        if let replyTo { lines.append(MailHeader.address("Reply-To", replyTo)) }
        if let unsubscribeURL { lines.append("List-Unsubscribe: <\(MailHeader.uri(unsubscribeURL.absoluteString))>") }
        if unsubscribeURL != nil, unsubscribesWithOneClick {
            lines.append("List-Unsubscribe-Post: List-Unsubscribe=One-Click")
        }
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
