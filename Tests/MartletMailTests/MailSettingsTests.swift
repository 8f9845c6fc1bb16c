import Testing

@testable import MartletMail

/// The sender of mail, and the server that sends it.
struct MailSettingsTests {
    private func settings(_ domains: Set<String> = [], from: String = "no-reply@operator.example") throws
        -> MailSettings
    {
        var settings = MailSettings(
            server: SMTPServer(host: "relay.example", port: 587, security: .startTLS),
            from: try MailAddress(parsing: from))
        settings.bounces = try MailAddress(address: "bounces@operator.example")
        settings.senderDomains = domains
        return settings
    }

    private func sender(_ address: String, name: String = "", bounces: String? = nil, server: MailSender.Server? = nil)
        throws -> MailSender
    {
        MailSender(
            address: try MailAddress(name: name, address: address), server: server,
            bounces: try bounces.map { try MailAddress(address: $0) })
    }

    @Test func `By default an app's mail comes from the operator's address, with the app's name`() throws {
        let transport = try #require(try settings().transport(of: nil, app: "Shop"))
        #expect(
            transport.from == (try MailAddress(name: "Shop", address: "no-reply@operator.example"))
                && transport.replyTo == nil
                && transport.bounces.address == "bounces@operator.example")
        let named = try #require(
            try settings(from: "Backend <no-reply@operator.example>").transport(of: nil, app: "Shop"))
        #expect(named.from.name == "Backend")
    }

    /// Attack: an app that poses as a bank, and has bounces sent to someone else.
    @Test(arguments: ["ceo@bank.example", "ceo@sub.operator.example", "ceo@operator.example.bank.example"])
    func `The operator's server sends only from domains that the operator has named`(address: String) throws {
        let transport = try #require(
            try settings(["shop.example"]).transport(
                of: try sender(address, name: "The Shop", bounces: "victim@bank.example"), app: "Shop"))
        #expect(transport.from == (try MailAddress(name: "The Shop", address: "no-reply@operator.example")))
        #expect(
            transport.replyTo?.address == address && transport.bounces.address == "bounces@operator.example"
                && transport.server.host == "relay.example")
    }

    @Test(arguments: ["hello@operator.example", "hello@SHOP.example"])
    func `An app may send from the operator's domains and from named ones`(address: String) throws {
        let transport = try #require(
            try settings(["shop.example"]).transport(of: try sender(address, bounces: "back@shop.example"), app: "Shop")
        )
        #expect(
            transport.from == (try MailAddress(name: "Shop", address: address)) && transport.replyTo == nil
                && transport.bounces.address == "back@shop.example")
        let foreign = try #require(
            try settings(["shop.example"]).transport(
                of: try sender(address, bounces: "victim@bank.example"), app: "Shop"))
        #expect(foreign.bounces.address == "bounces@operator.example")
        let any = try #require(
            try settings(["*"]).transport(of: try sender("a@b.example", bounces: "c@d.example"), app: "Shop"))
        #expect(any.from.address == "a@b.example" && any.bounces.address == "c@d.example")
    }

    @Test func `An app with its own server may use any sender`() throws {
        let own = MailSender.Server(host: "smtp.shop.example", port: 465, tls: .tls)
        let transport = try #require(
            try settings().transport(
                of: try sender("hello@shop.example", bounces: "back@elsewhere.example", server: own), app: "Shop"))
        #expect(
            transport.server.host == "smtp.shop.example" && transport.from.address == "hello@shop.example"
                && transport.bounces.address == "back@elsewhere.example")
        #expect(transport.replyTo == nil && !transport.server.isPrivateAddressAllowed)
        #expect(try MailSettings().transport(of: sender("hello@shop.example"), app: "Shop") == nil)
    }
}
