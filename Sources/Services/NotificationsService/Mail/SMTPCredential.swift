import Hummingbird
import MartletCore
import MartletHTTP
import MartletMail

/// The stored form of an app's mail sender and mail server.
struct SMTPCredential: CredentialContent {
    static let kind = CredentialKind.smtp

    var name: String
    var address: String
    var bounceAddress: String?
    /// Nil means the operator's server.
    var server: MailSender.Server?

    /// `{"name","address","bounceAddress","host","port","tls","user","password"}`, as in `MailSender`.
    init(_ request: Request) async throws {
        let sender = try MailSender(try await BodyFields(request, MailSender.fields.union(["bounceAddress"])))
        name = sender.address.name
        address = sender.address.address
        bounceAddress = sender.bounces?.address
        server = sender.server
    }

    var shown: JSONValue {
        var members: [JSONValue.Member] = [.init("name", .string(name)), .init("address", .string(address))]
        if let bounceAddress { members.append(.init("bounceAddress", .string(bounceAddress))) }
        if let server {
            members += [
                .init("host", .string(server.host)), .init("port", .number(String(server.port))),
                .init("tls", .string(server.tls.rawValue)),
                .init("hasPassword", .bool(server.password != nil)),
            ]
            if let user = server.user { members.append(.init("user", .string(user))) }
        }
        return .object(members)
    }

    /// - Throws: `MailAddressError`, which cannot happen for validated addresses.
    var sender: MailSender {
        get throws {
            MailSender(
                address: try MailAddress(name: name, address: address), server: server,
                bounces: try bounceAddress.map { try MailAddress(address: $0) })
        }
    }
}
