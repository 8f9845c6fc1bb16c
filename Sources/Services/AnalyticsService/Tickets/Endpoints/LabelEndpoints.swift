import Hummingbird
import MartletAPI
import MartletHTTP
import MartletPostgres
import NIOCore

/// `GET /tickets/labels`: by name, with how many tickets have them.
struct ListLabels: Endpoint {
    let access: TicketAccess
    let labels: LabelStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(request, context, to: .read)
        return .page(try await labels.list(in: visitor.space))
    }
}

/// `POST /tickets/labels` with `name`, and perhaps `color` as `#rrggbb`. 201.
struct CreateLabel: Endpoint {
    let access: TicketAccess
    let labels: LabelStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(request, context, to: .create)
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
    let access: TicketAccess
    let labels: LabelStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(request, context, to: .update)
        let fields = try await BodyFields(request, ["name", "color"])
        let (name, color) = (try fields.labelName, try fields.labelColor)
        return .json(
            try await labels.update(
                context.component("label"), name: name, color: color, in: visitor.space, by: visitor.author))
    }
}

/// `DELETE /tickets/labels/{label}`: no ticket has it any more. 204.
struct DeleteLabel: Endpoint {
    let access: TicketAccess
    let labels: LabelStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(request, context, to: .delete)
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
