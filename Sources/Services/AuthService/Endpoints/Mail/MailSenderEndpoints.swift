import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// `GET /auth/mail`: whom the app's mail is from, for the app's own server. Never with the password.
struct ReadMailSender: Endpoint {
    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.managedUserSpace
        return try .mailSender(try await mailing.senders.find(in: space), isAvailable: try await mailing.outbox.isThere(in: space))
    }
}

/// `PUT /auth/mail` with `address`, and if wanted `name`; with a mail server of the app's own also `host`, `tls` (`starttls`, else `tls` or
/// `off`), `port`, `user` and `password`. All of it takes the place of what was there. 200 with it, without the password.
struct ReplaceMailSender: Endpoint {
    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.managedUserSpace
        let fields = try await BodyFields(request, ["name", "address", "host", "port", "tls", "user", "password"])
        let name = try fields.string("name") ?? ""
        guard name.unicodeScalars.count <= MailAddress.maximumNameLength else {
            throw HTTPProblem(.invalidBody, "This may have at most \(MailAddress.maximumNameLength) characters.", field: "name")
        }
        let email = try EmailAddress(try fields.requiredString("address"), field: "address")
        let sender = MailSender(address: try MailAddress(name: name, address: email.text), server: try Self.server(fields))
        try await mailing.senders.replace(sender, in: space)
        mailing.settings.forget(space)
        return try .mailSender(sender, isAvailable: try await mailing.outbox.isThere(in: space))
    }

    private static func server(_ fields: BodyFields) throws -> MailSender.Server? {
        guard let host = try fields.string("host") else {
            for name in ["port", "tls", "user", "password"] where fields[name] != nil && fields[name] != .null {
                throw HTTPProblem(.invalidBody, "This goes with a host only.", field: name)
            }
            return nil
        }
        guard SMTPServer.isHost(host) else { throw HTTPProblem(.invalidBody, "This is no host's name.", field: "host") }
        guard let tls = SMTPServer.Security(rawValue: try fields.string("tls") ?? SMTPServer.Security.startTLS.rawValue) else {
            throw HTTPProblem(.invalidBody, "This must be starttls, tls or off.", field: "tls")
        }
        let port = try fields.integer("port", in: 1...65_535) ?? tls.usualPort
        let (user, password) = (try fields.string("user"), try fields.string("password"))
        guard (user == nil) == (password == nil) else { throw HTTPProblem(.invalidBody, "User and password go together.", field: "password") }
        for (text, field) in [(user ?? "", "user"), (password ?? "", "password")] where text.utf8.count > 1_024 || text.utf8.contains(where: { $0 < 0x20 }) {
            throw HTTPProblem(.invalidBody, "This has at most 1024 bytes, and no control characters.", field: field)
        }
        guard tls != .off || password == nil else { throw HTTPProblem(.invalidBody, "A password goes encrypted only.", field: "tls") }
        return MailSender.Server(host: host, port: port, tls: tls, user: user, password: password)
    }
}

/// `DELETE /auth/mail`, for the app's own server; 204: the operator's address and server again.
struct DeleteMailSender: Endpoint {
    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.managedUserSpace
        try await mailing.senders.remove(in: space)
        mailing.settings.forget(space)
        return Response(status: .noContent)
    }
}

extension Response {
    fileprivate static func mailSender(_ sender: MailSender?, isAvailable: Bool) throws -> Response {
        struct Answer: Encodable {
            var available: Bool
            var name: String?
            var address: String?
            var host: String?
            var port: Int?
            var tls: String?
            var user: String?
            var hasPassword: Bool
        }
        let server = sender?.server
        return try .encoding(
            Answer(
                available: isAvailable, name: sender?.address.name, address: sender?.address.address, host: server?.host, port: server?.port,
                tls: server?.tls.rawValue, user: server?.user, hasPassword: server?.password != nil))
    }
}
