import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

struct ListLabels: Endpoint {
    static let route = Route(
        .get, "/tickets/labels", "listLabels",
        "Lists the app's labels by name, with the number of tickets that have them.",
        callers: .manager(.read, .tickets),
        answers: [
            .answer(
                200, "All labels.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .object),
                            "next": .string,
                        ])))
        ])

    let access: TicketAccess
    let labels: LabelStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: .read)
        return .page(try await labels.list(in: caller.space))
    }
}

struct CreateLabel: Endpoint {
    static let route = Route(
        .post, "/tickets/labels", "createLabel", "Creates a label.", callers: .manager(.create, .tickets),
        body: .json(
            .object(
                [
                    "name": .string.maxLength(40),
                    "color": .string.pattern(#"^#[0-9A-Fa-f]{6}$"#),
                ])),
        answers: [
            .answer(201, "The label as stored.", .json(.object))
        ],
        errors: [409: "The app already has a label with this name (`conflict`)."])

    let access: TicketAccess
    let labels: LabelStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: .create)
        let fields = try await BodyFields(request, ["name", "color"])
        guard let name = try fields.labelName else {
            throw ServiceError(.invalidBody, "This field is required.", field: "name")
        }
        let json = try await labels.create(
            name, color: try fields.labelColor ?? "#808080", in: caller.space, by: caller.author)
        return .json(ByteBuffer(string: json), status: .created)
    }
}

struct ChangeLabel: Endpoint {
    static let route = Route(
        .patch, "/tickets/labels/{label}", "changeLabel",
        "Changes the name or the color of a label on all tickets that have it.",
        callers: .manager(.update, .tickets),
        parameters: [
            .path("label", .string, "The name of the label, ignoring case.")
        ],
        body: .json(
            .object(
                [
                    "name": .string.maxLength(40),
                    "color": .string.pattern(#"^#[0-9A-Fa-f]{6}$"#),
                ])),
        answers: [
            .answer(200, "The label after the change.", .json(.object))
        ],
        errors: [
            404: "The app has no such label (`label-not-found`).",
            409: "The app already has a label with this name (`conflict`).",
        ])

    let access: TicketAccess
    let labels: LabelStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: .update)
        let fields = try await BodyFields(request, ["name", "color"])
        let (name, color) = (try fields.labelName, try fields.labelColor)
        return .json(
            try await labels.update(
                context.component("label"), name: name, color: color, in: caller.space, by: caller.author))
    }
}

struct DeleteLabel: Endpoint {
    static let route = Route(
        .delete, "/tickets/labels/{label}", "deleteLabel", "Deletes a label and removes it from all tickets.",
        callers: .manager(.delete, .tickets),
        parameters: [
            .path("label", .string, "The name of the label, ignoring case.")
        ],
        answers: [
            .answer(204, "The label is deleted.")
        ],
        errors: [404: "The app has no such label (`label-not-found`)."])

    let access: TicketAccess
    let labels: LabelStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: .delete)
        try await labels.delete(context.component("label"), in: caller.space, by: caller.author)
        return Response(status: .noContent)
    }
}

extension BodyFields {
    /// Excludes characters and words that have a meaning in parameters and paths.
    fileprivate var labelName: String? {
        get throws {
            guard let name = try TicketInput.line(self, "name", upTo: 40) else { return nil }
            guard !name.contains(","), !name.contains("/"), name.lowercased() != "none" else {
                throw ServiceError(
                    .invalidBody, "Expected a label without commas and slashes, other than \"none\".",
                    field: "name")
            }
            return name
        }
    }

    fileprivate var labelColor: String? {
        get throws {
            guard let color = try string("color")?.lowercased() else { return nil }
            guard color.wholeMatch(of: /#[0-9a-f]{6}/) != nil else {
                throw ServiceError.unexpectedMember("color", expected: "a color in the form #rrggbb", found: color)
            }
            return color
        }
    }
}
