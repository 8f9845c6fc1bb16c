import Foundation
import MartletCore
import MartletMail
import MartletTesting
import ServiceLifecycle
import Testing

@testable import AuthService

/// Tests against PyPI's aiosmtpd.
@Suite(.enabled(if: MailServer.isAvailable)) struct SMTPClientTests {
    private func send(_ address: String, _ server: SMTPServer, edit: (inout MailMessage) -> Void = { _ in })
        async throws
    {
        let client = SMTPClient(concurrency: 1)
        var message = try MailMessage(
            from: MailAddress(name: "Shöp \"&\" Söhne", address: "shop@example.org"),
            to: MailAddress(name: "Ada", address: address),
            subject: "Grüße an alle, die eine sehr lange Zeile als Betreff nicht stört, weil sie gefaltet wird 😀",
            text: "Guten Tag,\n\n.\n..\n.one dot\nhier ist = und ein Blank \nÄÖÜ 😀\n"
                + String(repeating: "lang ", count: 60),
            html: "<p>Grüße</p>")
        edit(&message)
        let run = Task { try await client.run() }
        defer { run.cancel() }
        // The pool starts with the service.
        try await eventually("the pool has started") {
            do { try await client.send(message, by: server) } catch let error where !(error is SMTPError) {
                return false
            }
            return true
        }
    }

    private func address(_ name: String) -> String { "\(name)-\(UInt32.random(in: 0 ... .max))@example.org" }

    @Test(arguments: SMTPServer.Security.allCases)
    func `A message arrives unchanged`(security: SMTPServer.Security) async throws {
        let address = address("ada")
        try await send(address, MailServer.shared.server(security))
        let mail = try await MailServer.shared.mail(to: address)
        #expect(mail.port == security.rawValue && mail.user == (security == .off ? nil : "shop"))
        #expect(
            mail.from == "shop@example.org" && mail.to == [address] && mail.defects == [] && mail.isASCII
                && mail.longestLine <= 78)
        #expect(
            mail.subject == "Grüße an alle, die eine sehr lange Zeile als Betreff nicht stört, weil sie gefaltet wird 😀"
        )
        #expect(
            mail.headers["from"]?.contains("Shöp") == true && mail.headers["to"] == "Ada <\(address)>",
            "\(mail.headers)")
        #expect(
            mail.text.trimmingCharacters(in: .newlines)
                == "Guten Tag,\n\n.\n..\n.one dot\nhier ist = und ein Blank \nÄÖÜ 😀\n"
                + String(repeating: "lang ", count: 60))
        #expect(mail.html?.trimmingCharacters(in: .newlines) == "<p>Grüße</p>")
    }

    @Test func `A server's refusal determines whether to retry`() async throws {
        let server = try await MailServer.shared.server()
        await #expect(throws: SMTPError.noMailbox(status: 550)) { try await send(address("refuse"), server) }
        await #expect(throws: SMTPError.refused(status: 550)) { try await send(address("blocked"), server) }
        await #expect(throws: SMTPError.refused(status: 554)) { try await send(address("content"), server) }
        let late = address("later")
        await #expect(throws: SMTPError.refused(status: 451)) { try await send(late, server) }
        try await send(late, server)
        #expect(try await MailServer.shared.mails(to: late).count == 1)
        #expect(
            SMTPError.refused(status: 550).isFinal && SMTPError.noMailbox(status: 550).isFinal
                && !SMTPError.refused(status: 451).isFinal && !SMTPError.notAuthenticated.isFinal)
    }

    /// Attack: an attacker in the middle removes STARTTLS, or presents another certificate.
    @Test func `Without TLS, or with an untrusted certificate, nothing is sent`() async throws {
        let address = address("ada")
        var stripped = try await MailServer.shared.server()
        stripped.security = .startTLS
        await #expect(throws: SMTPError.notSecure) { try await send(address, stripped) }
        for security in [SMTPServer.Security.startTLS, .tls] {
            var stranger = try await MailServer.shared.server(security)
            stranger.certificatesFile = nil
            await #expect(throws: SMTPError.notSecure) { try await send(address, stranger) }
            await #expect(throws: SMTPError.notAuthenticated) {
                try await send(address, MailServer.shared.server(security, password: "wrong"))
            }
        }
        #expect(try await MailServer.shared.mails(to: address).isEmpty)
    }

    @Test func `An app's mail server cannot be used to reach internal addresses`() async throws {
        var server = try await MailServer.shared.server()
        server.isPrivateAddressAllowed = false
        let address = address("ada")
        for host in ["127.0.0.1", "localhost"] {
            server.host = host
            await #expect { try await send(address, server) } throws: {
                if case SMTPError.unreachable = $0 { true } else { false }
            }
        }
        #expect(try await MailServer.shared.mails(to: address).isEmpty)
    }

    @Test func `A missing or unresponsive server is abandoned`() async throws {
        var server = try await MailServer.shared.server()
        server.port = try FreePort.find()
        await #expect { try await send(address("ada"), server) } throws: {
            if case SMTPError.unreachable = $0 { true } else { false }
        }
    }
}
