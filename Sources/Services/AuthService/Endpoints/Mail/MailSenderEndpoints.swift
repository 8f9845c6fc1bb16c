import Hummingbird
import MartletAPI
import MartletHTTP
import MartletMail

/// `GET /auth/mail`: whom the app's mail is from, for the app's own server. Never with the password.
struct ReadMailSender: Endpoint {
    static let route = Route(
        .get, "/auth/mail", "readMailSender", "Whom mail is from. Needs the master key.", callers: .server,
        answers: [
            .answer(200, "The sender, without the password.", .json(.object))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.managedUserSpace
        return try .mailSender(
            try await mailing.senders.find(in: space), isAvailable: try await mailing.outbox.isThere(in: space))
    }
}

/// `PUT /auth/mail` with `address`, and if wanted `name`; with a mail server of the app's own also `host`, `tls`
/// (`starttls`, else `tls` or `off`), `port`, `user` and `password`. All of it takes the place of what was there. 200
/// with it, without the password.
struct ReplaceMailSender: Endpoint {
    static let route = Route(
        .put, "/auth/mail", "replaceMailSender",
        "Sender, and perhaps a mail server of the app's own. Needs the master key.", callers: .server,
        body: .json(
            .object(
                [
                    "name": .string,
                    "address": .string.format("email"),
                    "host": .string,
                    "port": .integer,
                    "tls": .oneOf("starttls", "tls", "off"),
                    "user": .string,
                    "password": .string.format("password"),
                ]), isRequired: false),
        answers: [
            .answer(200, "The sender, without the password.", .json(.object))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.managedUserSpace
        let sender = try MailSender(try await BodyFields(request, MailSender.fields))
        try await mailing.senders.replace(sender, in: space)
        mailing.settings.forget(space)
        return try .mailSender(sender, isAvailable: try await mailing.outbox.isThere(in: space))
    }
}

/// `DELETE /auth/mail`, for the app's own server; 204: the operator's address and server again.
struct DeleteMailSender: Endpoint {
    static let route = Route(
        .delete, "/auth/mail", "deleteMailSender", "The operator's address and server again. Needs the master key.",
        callers: .server,
        answers: [
            .answer(204, "Done.")
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

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
                available: isAvailable, name: sender?.address.name, address: sender?.address.address,
                host: server?.host, port: server?.port,
                tls: server?.tls.rawValue, user: server?.user, hasPassword: server?.password != nil))
    }
}
