import Hummingbird
import MartletAPI
import MartletHTTP
import MartletPostgres
import NIOCore

/// `GET /tickets/labels`: by name, with how many tickets have them.
struct ListLabels: Endpoint {
    static let route = Route(
        .get, "/tickets/labels", "listLabels", "Labels, with how many tickets have them.",
        callers: .manager(.read, .tickets),
        answers: [
            .answer(
                200, "All of them.",
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
        let visitor = try await access.admit(context, to: .read)
        return .page(try await labels.list(in: visitor.space))
    }
}

/// `POST /tickets/labels` with `name`, and perhaps `color` as `#rrggbb`. 201.
struct CreateLabel: Endpoint {
    static let route = Route(
        .post, "/tickets/labels", "createLabel", "Makes a label.", callers: .manager(.create, .tickets),
        body: .json(
            .object(
                [
                    "name": .string.maxLength(40),
                    "color": .string.pattern(#"^#[0-9A-Fa-f]{6}$"#),
                ])),
        answers: [
            .answer(201, "The label.", .json(.object))
        ],
        errors: [409: "There is one of this name (`conflict`)."])

    let access: TicketAccess
    let labels: LabelStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(context, to: .create)
        let fields = try await BodyFields(request, ["name", "color"])
        guard let name = try fields.labelName else {
            throw HTTPProblem(.invalidBody, "This field is required.", field: "name")
        }
        let json = try await labels.create(
            name, color: try fields.labelColor ?? "#808080", in: visitor.space, by: visitor.author)
        return .json(ByteBuffer(string: json), status: .created)
    }
}

/// `PATCH /tickets/labels/{label}` with another `name` or `color`.
struct ChangeLabel: Endpoint {
    static let route = Route(
        .patch, "/tickets/labels/{label}", "changeLabel", "Another name or color, wherever it is used.",
        callers: .manager(.update, .tickets),
        parameters: [
            .path("label", .string, "Its name, in any case.")
        ],
        body: .json(
            .object(
                [
                    "name": .string.maxLength(40),
                    "color": .string.pattern(#"^#[0-9A-Fa-f]{6}$"#),
                ])),
        answers: [
            .answer(200, "The label.", .json(.object))
        ],
        errors: [404: "There is no such label (`label-not-found`).", 409: "There is one of this name (`conflict`)."])

    let access: TicketAccess
    let labels: LabelStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(context, to: .update)
        let fields = try await BodyFields(request, ["name", "color"])
        let (name, color) = (try fields.labelName, try fields.labelColor)
        return .json(
            try await labels.update(
                context.component("label"), name: name, color: color, in: visitor.space, by: visitor.author))
    }
}

/// `DELETE /tickets/labels/{label}`: no ticket has it any more. 204.
struct DeleteLabel: Endpoint {
    static let route = Route(
        .delete, "/tickets/labels/{label}", "deleteLabel", "Takes a label away from all tickets.",
        callers: .manager(.delete, .tickets),
        parameters: [
            .path("label", .string, "Its name, in any case.")
        ],
        answers: [
            .answer(204, "Done.")
        ],
        errors: [404: "There is no such label (`label-not-found`)."])

    let access: TicketAccess
    let labels: LabelStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(context, to: .delete)
        try await labels.delete(context.component("label"), in: visitor.space, by: visitor.author)
        return Response(status: .noContent)
    }
}

extension BodyFields {
    /// Without what parts names in parameters and paths.
    fileprivate var labelName: String? {
        get throws {
            guard let name = try TicketInput.line(self, "name", upTo: 40) else { return nil }
            guard !name.contains(","), !name.contains("/"), name.lowercased() != "none" else {
                throw HTTPProblem(
                    .invalidBody, "A label has no commas and slashes, and is not called none.", field: "name")
            }
            return name
        }
    }

    fileprivate var labelColor: String? {
        get throws {
            guard let color = try string("color")?.lowercased() else { return nil }
            guard color.wholeMatch(of: /#[0-9a-f]{6}/) != nil else {
                throw HTTPProblem(.invalidBody, "A color is #rrggbb.", field: "color")
            }
            return color
        }
    }
}
