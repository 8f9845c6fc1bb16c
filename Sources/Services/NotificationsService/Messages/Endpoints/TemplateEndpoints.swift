import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `GET /notifications/templates`: lists the templates without their contents.
struct ListTemplates: Endpoint {
    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (space, _) = try await context.notifications(may: .read, messages.spaces)
        return .page(try await messages.templates.list(in: space))
    }
}

/// `GET /notifications/templates/{name}`
struct ReadTemplate: Endpoint {
    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (space, _) = try await context.notifications(may: .read, messages.spaces)
        guard let template = try await messages.templates.find(try context.chosenName, in: space) else {
            throw HTTPProblem(.templateNotFound)
        }
        return .json(template.text)
    }
}

/// `PUT /notifications/templates/{name}` with `{"content":{…}}`, whose texts may contain placeholders `{{name}}`; 200
/// with the template.
struct ReplaceTemplate: Endpoint {
    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (space, author) = try await context.notifications(may: .update, messages.spaces)
        let name = try context.chosenName
        let fields = try await BodyFields(request, ["content"], upTo: MessageRequest.maximumBodySize)
        guard let content = fields.object("content") else {
            throw HTTPProblem(.invalidBody, "This field is required.", field: "content")
        }
        try await messages.templates.replace(name, with: try MessageTemplate(content), by: author.text, in: space)
        guard let template = try await messages.templates.find(name, in: space) else {
            throw HTTPProblem(.templateNotFound)
        }
        return .json(template.text)
    }
}

/// `DELETE /notifications/templates/{name}`; 204. Messages created from it do not change.
struct DeleteTemplate: Endpoint {
    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (space, _) = try await context.notifications(may: .delete, messages.spaces)
        guard try await messages.templates.remove(try context.chosenName, in: space) else {
            throw HTTPProblem(.templateNotFound)
        }
        return Response(status: .noContent)
    }
}
