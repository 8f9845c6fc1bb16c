import Hummingbird
import MartletAPI
import MartletHTTP
import MartletMail

struct ReadMailSender: Endpoint {
    static let route = Route(
        .get, "/auth/mail", "readMailSender", "Returns the sender of the app's mail.", callers: .manager(.read, .users),
        details: "`available` says whether mail can be sent.",
        answers: [
            .answer(200, "The sender and the mail server, without the password.", .json(.object))
        ])

    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        return try .mailSender(
            try await mailing.senders.find(in: space), isAvailable: try await mailing.outbox.canSendMail(in: space))
    }
}

struct ReplaceMailSender: Endpoint {
    static let route = Route(
        .put, "/auth/mail", "replaceMailSender",
        "Sets the sender of the app's mail, and optionally a mail server of its own.",
        callers: .manager(.update, .users),
        details: "Replaces all stored values. Without `host`, the operator's mail server sends the mail.",
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
                ])),
        answers: [
            .answer(200, "The sender and the mail server, without the password.", .json(.object))
        ])

    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
        let sender = try MailSender(try await BodyFields(request, MailSender.fields))
        try await mailing.senders.replace(sender, in: space)
        mailing.settings.forget(space)
        return try .mailSender(sender, isAvailable: try await mailing.outbox.canSendMail(in: space))
    }
}

struct DeleteMailSender: Endpoint {
    static let route = Route(
        .delete, "/auth/mail", "deleteMailSender", "Deletes the app's own sender and mail server.",
        callers: .manager(.delete, .users),
        details: "Mail is then sent from the operator's address and server.",
        answers: [
            .answer(204, "The app's sender and mail server are deleted.")
        ])

    let mailing: Mailing

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.userSpace
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
