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
        let way = try #require(try settings().way(of: nil, app: "Shop"))
        #expect(
            way.from == (try MailAddress(name: "Shop", address: "no-reply@operator.example")) && way.replyTo == nil
                && way.bounces.address == "bounces@operator.example")
        let named = try #require(try settings(from: "Backend <no-reply@operator.example>").way(of: nil, app: "Shop"))
        #expect(named.from.name == "Backend")
    }

    /// Drill: an app that poses as a bank, and has bounces sent to someone else.
    @Test(arguments: ["ceo@bank.example", "ceo@sub.operator.example", "ceo@operator.example.bank.example"])
    func `The operator's server sends only from domains that the operator has named`(address: String) throws {
        let way = try #require(
            try settings(["shop.example"]).way(
                of: try sender(address, name: "The Shop", bounces: "victim@bank.example"), app: "Shop"))
        #expect(way.from == (try MailAddress(name: "The Shop", address: "no-reply@operator.example")))
        #expect(
            way.replyTo?.address == address && way.bounces.address == "bounces@operator.example"
                && way.server.host == "relay.example")
    }

    @Test(arguments: ["hello@operator.example", "hello@SHOP.example"])
    func `An app may send from the operator's domains and from named ones`(address: String) throws {
        let way = try #require(
            try settings(["shop.example"]).way(of: try sender(address, bounces: "back@shop.example"), app: "Shop"))
        #expect(
            way.from == (try MailAddress(name: "Shop", address: address)) && way.replyTo == nil
                && way.bounces.address == "back@shop.example")
        let strange = try #require(
            try settings(["shop.example"]).way(of: try sender(address, bounces: "victim@bank.example"), app: "Shop"))
        #expect(strange.bounces.address == "bounces@operator.example")
        let any = try #require(
            try settings(["*"]).way(of: try sender("a@b.example", bounces: "c@d.example"), app: "Shop"))
        #expect(any.from.address == "a@b.example" && any.bounces.address == "c@d.example")
    }

    @Test func `An app with its own server may use any sender`() throws {
        let own = MailSender.Server(host: "smtp.shop.example", port: 465, tls: .tls)
        let way = try #require(
            try settings().way(
                of: try sender("hello@shop.example", bounces: "back@elsewhere.example", server: own), app: "Shop"))
        #expect(
            way.server.host == "smtp.shop.example" && way.from.address == "hello@shop.example"
                && way.bounces.address == "back@elsewhere.example")
        #expect(way.replyTo == nil && !way.server.isPrivateAddressAllowed)
        #expect(try MailSettings().way(of: sender("hello@shop.example"), app: "Shop") == nil)
    }
}
