import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `GET /notifications/segments`
struct ListSegments: Endpoint {
    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (space, _) = try await context.notifications(may: .read, messages.spaces)
        return .page(try await messages.segments.list(in: space))
    }
}

/// `GET /notifications/segments/{name}`
struct ReadSegment: Endpoint {
    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (space, _) = try await context.notifications(may: .read, messages.spaces)
        guard let segment = try await messages.segments.find(try context.chosenName, in: space) else {
            throw HTTPProblem(.segmentNotFound)
        }
        return .json(segment.text)
    }
}

/// `PUT /notifications/segments/{name}` with `{"audience":{…}}`; 200 with the segment.
struct ReplaceSegment: Endpoint {
    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (space, author) = try await context.notifications(may: .update, messages.spaces)
        let name = try context.chosenName
        let fields = try await BodyFields(request, ["audience"])
        guard let audience = fields.object("audience") else {
            throw HTTPProblem(.invalidBody, "This field is required.", field: "audience")
        }
        try await messages.segments.replace(name, with: try Audience(audience), by: author.text, in: space)
        guard let segment = try await messages.segments.find(name, in: space) else {
            throw HTTPProblem(.segmentNotFound)
        }
        return .json(segment.text)
    }
}

/// `DELETE /notifications/segments/{name}`; 204. Messages already ordered keep the segment's audience.
struct DeleteSegment: Endpoint {
    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (space, _) = try await context.notifications(may: .delete, messages.spaces)
        guard try await messages.segments.remove(try context.chosenName, in: space) else {
            throw HTTPProblem(.segmentNotFound)
        }
        return Response(status: .noContent)
    }
}

/// `GET /notifications/segments/{name}/preview?exact=`: the current number of devices in the segment,
/// `{"count","isExact"}`.
struct PreviewSegment: Endpoint {
    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters(["exact"])
        let (space, _) = try await context.notifications(may: .read, messages.spaces)
        let audience = try await messages.segments.audience(try context.chosenName, field: nil, in: space)
        return .json(
            try await messages.counter.count([audience], isExact: try request.flag("exact"), in: space).json.text)
    }
}
