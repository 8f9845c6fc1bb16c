import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct ListTemplates: Endpoint {
    static let route = Route(
        .get, "/notifications/templates", "listPushTemplates",
        "Lists the app's push templates, without their contents.",
        callers: .manager(.read, .notifications),
        answers: [
            .answer(
                200, "All push templates.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .pushTemplate),
                            "next": .string,
                        ])))
        ])

    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, messages.spaces)
        return .page(try await messages.templates.list(in: space))
    }
}

struct ReadTemplate: Endpoint {
    static let route = Route(
        .get, "/notifications/templates/{name}", "readPushTemplate", "Reads a push template.",
        callers: .manager(.read, .notifications),
        parameters: [
            .path("name", .string.maxLength(64))
        ],
        answers: [
            .answer(200, "The template.", .json(.pushTemplate))
        ],
        errors: [404: "The app has no such template (`template-not-found`)."])

    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, messages.spaces)
        guard let template = try await messages.templates.find(try context.pathName, in: space) else {
            throw ServiceError(.templateNotFound)
        }
        return .json(template.text)
    }
}

struct ReplaceTemplate: Endpoint {
    static let route = Route(
        .put, "/notifications/templates/{name}", "replacePushTemplate", "Creates or replaces a push template.",
        callers: .manager(.update, .notifications),
        parameters: [
            .path("name", .string.maxLength(64))
        ],
        body: .json(
            .object(
                [
                    "content": .pushContent
                ], required: ["content"])),
        answers: [
            .answer(200, "The template as stored.", .json(.pushTemplate))
        ])

    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.notifications(may: .update, messages.spaces)
        let name = try context.pathName
        let fields = try await BodyFields(request, ["content"], upTo: MessageRequest.maximumBodySize)
        guard let content = fields.object("content") else {
            throw ServiceError(.invalidBody, "This field is required.", field: "content")
        }
        try await messages.templates.replace(name, with: try MessageTemplate(content), by: author.text, in: space)
        guard let template = try await messages.templates.find(name, in: space) else {
            throw ServiceError(.templateNotFound)
        }
        return .json(template.text)
    }
}

struct DeleteTemplate: Endpoint {
    static let route = Route(
        .delete, "/notifications/templates/{name}", "deletePushTemplate",
        "Deletes a push template. Messages created from it do not change.",
        callers: .manager(.delete, .notifications),
        parameters: [
            .path("name", .string.maxLength(64))
        ],
        answers: [
            .answer(204, "The template is deleted.")
        ],
        errors: [404: "The app has no such template (`template-not-found`)."])

    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .delete, messages.spaces)
        guard try await messages.templates.remove(try context.pathName, in: space) else {
            throw ServiceError(.templateNotFound)
        }
        return Response(status: .noContent)
    }
}
