import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct ListSegments: Endpoint {
    static let route = Route(
        .get, "/notifications/segments", "listSegments", "Lists the app's segments.",
        callers: .manager(.read, .notifications),
        answers: [
            .answer(
                200, "All segments.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .pushSegment),
                            "next": .string,
                        ])))
        ])

    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, messages.spaces)
        return .page(try await messages.segments.list(in: space))
    }
}

struct ReadSegment: Endpoint {
    static let route = Route(
        .get, "/notifications/segments/{name}", "readSegment", "Reads a segment.",
        callers: .manager(.read, .notifications),
        parameters: [
            .path("name", .string.maxLength(64))
        ],
        answers: [
            .answer(200, "The segment.", .json(.pushSegment))
        ],
        errors: [404: "The app has no such segment (`segment-not-found`)."])

    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, messages.spaces)
        guard let segment = try await messages.segments.find(try context.pathName, in: space) else {
            throw ServiceError(.segmentNotFound)
        }
        return .json(segment.text)
    }
}

struct ReplaceSegment: Endpoint {
    static let route = Route(
        .put, "/notifications/segments/{name}", "replaceSegment", "Creates or replaces a segment.",
        callers: .manager(.update, .notifications),
        parameters: [
            .path("name", .string.maxLength(64))
        ],
        body: .json(
            .object(
                [
                    "audience": .pushAudience
                ], required: ["audience"])),
        answers: [
            .answer(200, "The segment as stored.", .json(.pushSegment))
        ])

    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.notifications(may: .update, messages.spaces)
        let name = try context.pathName
        let fields = try await BodyFields(request, ["audience"])
        guard let audience = fields.object("audience") else {
            throw ServiceError(.invalidBody, "This field is required.", field: "audience")
        }
        try await messages.segments.replace(name, with: try Audience(audience), by: author.text, in: space)
        guard let segment = try await messages.segments.find(name, in: space) else {
            throw ServiceError(.segmentNotFound)
        }
        return .json(segment.text)
    }
}

struct DeleteSegment: Endpoint {
    static let route = Route(
        .delete, "/notifications/segments/{name}", "deleteSegment",
        "Deletes a segment. Messages that were already created keep its audience.",
        callers: .manager(.delete, .notifications),
        parameters: [
            .path("name", .string.maxLength(64))
        ],
        answers: [
            .answer(204, "The segment is deleted.")
        ],
        errors: [404: "The app has no such segment (`segment-not-found`)."])

    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .delete, messages.spaces)
        guard try await messages.segments.remove(try context.pathName, in: space) else {
            throw ServiceError(.segmentNotFound)
        }
        return Response(status: .noContent)
    }
}

struct PreviewSegment: Endpoint {
    static let route = Route(
        .get, "/notifications/segments/{name}/preview", "previewSegment",
        "Counts the devices that are now in a segment.",
        callers: .manager(.read, .notifications),
        parameters: [
            .path("name", .string.maxLength(64)),
            .query("exact", .boolean),
        ],
        answers: [
            .answer(
                200, "The number of devices. If `isExact` is false, there are at least as many.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "isExact": .boolean,
                        ])))
        ],
        errors: [404: "The app has no such segment (`segment-not-found`)."])

    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, messages.spaces)
        let audience = try await messages.segments.audience(try context.pathName, field: nil, in: space)
        return .json(
            try await messages.counter.count([audience], isExact: try request.flag("exact"), in: space).json.text)
    }
}
