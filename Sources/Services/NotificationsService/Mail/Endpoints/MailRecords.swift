import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail
import MartletPostgres

struct ListMails: Endpoint {
    static let route = Route(
        .get, "/notifications/mail", "listMails", "Lists the app's mails with their states, newest first.",
        callers: .manager(.read, .notifications),
        parameters: [
            .query("state", .string, "`queued`, `sent`, `failed`, `skipped` or `suppressed`."),
            .query("to", .string, "The address of the recipient."),
            .query("user", .string, "The id of the user who is the recipient."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
            .query("cursor", .string, "The `next` value of the previous page."),
        ],
        answers: [
            .answer(
                200, "A page of mails.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .mail),
                            "next": .string,
                        ])))
        ])

    private static let states: Set<String> = ["queued", "sent", "failed", "skipped", "suppressed"]

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, mail.spaces)
        let parameters = request.uri.queryParameters
        var filter = MailStore.Filter()
        filter.state = parameters["state"].map(String.init)
        if let state = filter.state, !Self.states.contains(state) {
            throw ServiceError(
                .invalidParameter, "Expected one of \(Self.states.sorted().joined(separator: ", ")).",
                field: "state")
        }
        filter.address = parameters["to"].map { $0.lowercased() }
        filter.user = parameters["user"].map { $0.lowercased() }
        filter.before = try request.id("cursor")
        let limit = try context.integer("limit")
        let list = try await mail.mails.list(filter, limit: limit + 1, in: space)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last.map { $0.id.uuidString.lowercased() } : nil)
    }
}

/// Works in batches, and not in one transaction. The lists keep a digest of the address, so the entries stay in effect.
struct EraseMailAddress: Endpoint {
    static let route = Route(
        .delete, "/notifications/mail", "eraseMailAddress",
        """
        Erases what is stored about a mail address: records of mail, queued mail, and its entries in the \
        unsubscribe and suppression lists.
        """, callers: .manager(.delete, .notifications),
        parameters: [
            .query(
                "to", .string.format("email"), "The address. Mail to users is erased with their accounts.",
                isRequired: true)
        ],
        answers: [
            .answer(
                200, "The number of erased entries of each kind. Repeat the call until `isDone` is true.",
                .json(
                    .object(
                        [
                            "erased": .map(of: .integer),
                            "isDone": .boolean,
                        ])))
        ])

    /// The maximum number of batches per call.
    private static let maximumSlices = 20

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .delete, mail.spaces)
        guard let to = request.uri.queryParameters["to"], let address = try? EmailAddress(String(to)).text else {
            throw ServiceError(.invalidParameter, "An e-mail address is required.", field: "to")
        }
        var (erased, isDone) = (["mails": 0, "unsubscribed": 0, "suppressed": 0], false)
        for _ in 0..<Self.maximumSlices where !isDone {
            let mails = try await mail.mails.erase(address, limit: AddressEraser.rowsPerSlice, in: space)
            let lists = try await mail.eraser.erase(.address(address), in: space.id)
            for (kind, count) in [
                ("mails", mails), ("unsubscribed", lists.unsubscribed), ("suppressed", lists.suppressed),
            ] { erased[kind, default: 0] += count }
            isDone = max(mails, lists.unsubscribed, lists.suppressed) < AddressEraser.rowsPerSlice
        }
        struct Answer: Encodable {
            var erased: [String: Int]
            var isDone: Bool
        }
        return try .encoding(Answer(erased: erased, isDone: isDone))
    }
}

/// The content of a mail is deleted once it has been sent.
struct ReadMail: Endpoint {
    static let route = Route(
        .get, "/notifications/mail/{id}", "readMail", "Reads the record of a mail, with its state.",
        callers: .manager(.read, .notifications),
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(200, "The record of the mail.", .json(.mail))
        ],
        errors: [404: "The app has no such mail (`message-not-found`)."])

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, mail.spaces)
        let id = try context.uuid("id", else: .invalidID)
        guard let json = try await mail.mails.read(id, in: space) else { throw ServiceError(.messageNotFound) }
        return .json(json)
    }
}
