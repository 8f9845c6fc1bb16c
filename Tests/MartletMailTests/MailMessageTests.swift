import Foundation
import Testing

@testable import MartletMail

@Suite struct MailMessageTests {
    private func message(
        name: String = "Shop", subject: String = "Hello", text: String = "One line.", html: String? = nil
    ) throws -> MailMessage {
        try MailMessage(
            from: MailAddress(name: name, address: "shop@example.org"), to: MailAddress(address: "ada@example.org"),
            subject: subject, text: text, html: html,
            date: Date(timeIntervalSince1970: 1_795_312_984))
    }

    private func lines(_ message: MailMessage) -> [String] {
        String(decoding: message.bytes(), as: UTF8.self).components(separatedBy: "\r\n")
    }

    @Test func `A plain message has the required headers and its text`() throws {
        var message = try message()
        message.id = "7"
        #expect(
            lines(message) == [
                #"From: "Shop""#, " <shop@example.org>", "To: ada@example.org", "Subject: Hello",
                "Date: Sun, 22 Nov 2026 02:03:04 +0000",
                "Message-ID: <7@example.org>", "MIME-Version: 1.0", "Auto-Submitted: auto-generated",
                "Content-Type: text/plain; charset=utf-8",
                "Content-Transfer-Encoding: quoted-printable", "", "One line.", "",
            ])
        message.unsubscribeURL = URL(string: "https://shop.example.org/stop?u=1")
        message.replyTo = try MailAddress(name: "Help", address: "help@example.org")
        #expect(lines(message).contains("List-Unsubscribe: <https://shop.example.org/stop?u=1>"))
        #expect(lines(message).contains(#"Reply-To: "Help""#))
        #expect(!lines(message).contains { $0.hasPrefix("List-Unsubscribe-Post") })
        message.unsubscribesWithOneClick = true
        #expect(lines(message).contains("List-Unsubscribe-Post: List-Unsubscribe=One-Click"))
        message.unsubscribeURL = nil
        #expect(!lines(message).contains { $0.hasPrefix("List-Unsubscribe") })
        message.bounces = try MailAddress(address: "bounces@example.org")
        #expect(!lines(message).contains { $0.contains("bounces@") })
    }

    @Test func `Text and HTML are alternatives in one message`() throws {
        let lines = lines(try message(text: "plain", html: "<p>rich</p>"))
        let boundary = try #require(lines.first { $0.hasPrefix(" boundary=") }).dropFirst(11).dropLast()
        #expect(boundary.count > 20)
        #expect(
            lines.filter { $0 == "--" + boundary }.count == 2 && lines.filter { $0 == "--\(boundary)--" }.count == 1)
        #expect(lines.contains("plain") && lines.contains("<p>rich</p>"))
    }

    /// RFC 2045 §6.7.
    @Test(arguments: [
        ("", ""), ("plain", "plain"), ("a=b", "a=3Db"), ("ä", "=C3=A4"), ("blank ", "blank=20"), ("tab\t", "tab=09"),
        ("a b", "a b"),
        ("a\nb", "a\r\nb"), ("a\r\nb", "a\r\nb"), ("a\rb", "a\r\nb"), ("\u{0}", "=00"), ("😀", "=F0=9F=98=80"),
        (".", "."),
        (String(repeating: "x", count: 75), String(repeating: "x", count: 75)),
        (String(repeating: "x", count: 76), String(repeating: "x", count: 75) + "=\r\nx"),
        (String(repeating: "x", count: 74) + "ä", String(repeating: "x", count: 74) + "=\r\n=C3=A4"),
    ])
    func `Text is encoded as quoted-printable`(text: String, expected: String) {
        #expect(QuotedPrintable.encode(text) == expected)
    }

    @Test(arguments: [
        ("Hello", "Subject: Hello"), ("Grüße", "Subject: =?UTF-8?B?R3LDvMOfZQ==?="),
        ("=?x", "Subject: =?UTF-8?B?PT94?="),
        ("a\r\nBcc: eve@example.org", "Subject: a Bcc: eve@example.org"),
        ("a\u{2028}b\u{85}c\u{0}d", "Subject: a b c d"),
        ("\u{202e}evil", "Subject: evil"),
    ])
    func `A subject is one header, whatever it contains`(subject: String, expected: String) {
        #expect(MailHeader.text("Subject", subject) == expected)
    }

    @Test func `Long words are encoded in pieces of whole characters, on short lines`() throws {
        let subject = String(repeating: "Grüße aus Köln 😀 ", count: 20)
        let lines = MailHeader.text("Subject", subject).components(separatedBy: "\r\n")
        #expect(
            lines.count > 5 && lines.allSatisfy { $0.utf8.count <= 76 }
                && lines.dropFirst().allSatisfy { $0.hasPrefix(" =?UTF-8?B?") })
        let decoded = try lines.map { (line: String) throws -> String in
            let word = line.replacing("Subject: ", with: "").trimmingCharacters(in: .whitespaces).dropFirst(10)
                .dropLast(2)
            let bytes = try #require(Data(base64Encoded: String(word)))
            return try #require(String(data: bytes, encoding: .utf8))
        }
        #expect(decoded.joined() == subject.trimmingCharacters(in: .whitespaces))
    }

    /// Attack: names that try to add a header or a recipient.
    @Test(arguments: [
        "Shop\r\nBcc: eve@example.org", "Shop\nX: y", "Shop\u{0}", "\"><eve@example.org>", "Shop\\\"",
        "Shop <eve@example.org>", "Shöp\r\n\r\n<script>",
        "\u{2028}Bcc: eve@example.org", String(repeating: "long name ", count: 50),
    ])
    func `A name cannot add a header or a recipient`(name: String) throws {
        let plain = lines(try message())
        let lines = lines(try message(name: name))
        let headers = lines.prefix { !$0.isEmpty }.filter { !$0.hasPrefix(" ") }.map { $0.prefix { $0 != ":" } }
        #expect(headers == plain.prefix { !$0.isEmpty }.filter { !$0.hasPrefix(" ") }.map { $0.prefix { $0 != ":" } })
        // The header ends with our address, and everything before it is quoted or encoded.
        #expect(lines.contains(" <shop@example.org>"))
        #expect(
            lines[0].hasPrefix("From: \"") && lines[0].hasSuffix("\"") || lines[0].hasPrefix("From: =?UTF-8?B?"),
            "\(lines[0])")
    }

    @Test(arguments: [
        "", "ada", "@", "ada@", "@example.org", "a b@example.org", "ada@example.org\r\nX: y", "ada@example.org>",
        "<ada@example.org>", "ada@exa mple.org",
        "a,b@example.org", "a@b@c", "\"a\"@example.org", "ada@example.org\u{0}", "ada@example\u{2028}.org",
        String(repeating: "a", count: 65) + "@example.org",
    ])
    func `An invalid address is refused`(address: String) {
        #expect(throws: MailAddressError.self) { try MailAddress(address: address) }
    }

    @Test(arguments: [
        ("ada@example.org", "", "ada@example.org"), ("Shop <no-reply@example.org>", "Shop", "no-reply@example.org"),
        (#""Shop, Inc." <a@example.org>"#, "Shop, Inc.", "a@example.org"), ("<a@example.org>", "", "a@example.org"),
    ])
    func `An address with a name is read`(text: String, name: String, address: String) throws {
        let parsed = try MailAddress(parsing: text)
        #expect(parsed.name == name && parsed.address == address)
    }

    @Test(arguments: [
        ("mail.example.org", true), ("127.0.0.1", true), ("a", true), ("", false), ("a b", false), ("a/b", false),
        ("a@b", false), ("a:25", false), ("-a", false),
        ("[::1]", false), ("a\r\nb", false), ("a?b", false), ("a#b", false), ("ä.example", false),
    ])
    func `A host with anything besides a host name is refused`(text: String, isHost: Bool) {
        #expect(SMTPServer.isHost(text) == isHost)
    }
}
