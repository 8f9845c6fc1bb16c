import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

struct ListMailTemplates: Endpoint {
    static let route = Route(
        .get, "/auth/mail/templates", "listMailTemplates", "Lists the app's own mail templates.",
        callers: .manager(.read, .users),
        answers: [
            .answer(200, "The kind, language and subject of each template.", .json(.object))
        ])

    let templates: MailTemplateStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try .list(try await templates.list(in: try context.userSpace))
    }
}

struct ReadMailTemplate: Endpoint {
    static let route = Route(
        .get, "/auth/mail/templates/{kind}/{language}", "readMailTemplate",
        "Returns one of the app's own mail templates.", callers: .manager(.read, .users),
        parameters: [
            .mailKind
        ],
        answers: [
            .answer(200, "The template.", .json(.object))
        ],
        errors: [404: "The app has no template of its own for this kind and language (`not-found`)."])

    let templates: MailTemplateStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, kind, language) = (try context.userSpace, try context.mailKind, try context.language)
        guard let template = try await templates.find(kind, [language.text.lowercased()], isStrict: true, in: space)
        else { throw ServiceError(.notFound) }
        return try .encoding(template)
    }
}

struct ReplaceMailTemplate: Endpoint {
    static let route = Route(
        .put, "/auth/mail/templates/{kind}/{language}", "replaceMailTemplate",
        "Stores a mail template of the app.", callers: .manager(.update, .users),
        parameters: [
            .mailKind
        ],
        details: "It is used instead of the built-in template for its kind and language.",
        body: .json(
            .object(
                [
                    "subject": .string,
                    "text": .string,
                    "html": .string,
                ])),
        answers: [
            .answer(200, "The template as stored.", .json(.object))
        ])

    let templates: MailTemplateStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, kind, language) = (try context.userSpace, try context.mailKind, try context.language)
        let fields = try await BodyFields(request, ["subject", "text", "html"])
        let template = StoredTemplate(
            kind: kind.rawValue, language: language.text.lowercased(), subject: try fields.requiredString("subject"),
            text: try fields.requiredString("text"),
            html: try fields.string("html"))
        _ = try MailTemplate(kind, subject: template.subject, text: template.text, html: template.html)
        try await templates.replace(template, in: space)
        return try .encoding(template)
    }
}

struct DeleteMailTemplate: Endpoint {
    static let route = Route(
        .delete, "/auth/mail/templates/{kind}/{language}", "deleteMailTemplate",
        "Deletes one of the app's own mail templates.", callers: .manager(.delete, .users),
        parameters: [
            .mailKind
        ],
        details: "Mail then uses the built-in template again.",
        answers: [
            .answer(204, "The template is deleted.")
        ],
        errors: [404: "The app has no template of its own for this kind and language (`not-found`)."])

    let templates: MailTemplateStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, kind, language) = (try context.userSpace, try context.mailKind, try context.language)
        guard try await templates.remove(kind, language, in: space) else { throw ServiceError(.notFound) }
        return Response(status: .noContent)
    }
}

extension RouteParameter {
    fileprivate static let mailKind: RouteParameter = .path(
        "kind", .oneOf(MailKind.allCases.map(\.rawValue)))
}

extension ServiceContext {
    fileprivate var mailKind: MailKind {
        get throws {
            guard let kind = parameters.get("kind").flatMap(MailKind.init) else {
                throw ServiceError(
                    .invalidName,
                    "Expected one of \(MailKind.allCases.map(\.rawValue).joined(separator: ", ")).",
                    field: "kind")
            }
            return kind
        }
    }

    fileprivate var language: LanguageTag {
        get throws {
            guard let tag = parameters.get("language").flatMap({ LanguageTag($0) }) else {
                throw ServiceError(
                    .invalidName, "Expected a language such as en or de-AT (BCP 47).", field: "language")
            }
            return tag
        }
    }
}
