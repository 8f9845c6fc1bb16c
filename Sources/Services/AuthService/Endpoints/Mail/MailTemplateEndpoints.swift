import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// `GET /auth/mail/templates`: the app's own templates, for the app's own server:
/// `{"count","data":[{"kind","language","subject"}]}`.
struct ListMailTemplates: Endpoint {
    static let route = Route(
        .get, "/auth/mail/templates", "listMailTemplates", "The app's own templates. Needs the master key.",
        callers: .server,
        answers: [
            .answer(200, "Kinds, languages and subjects.", .json(.object))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let templates: MailTemplateStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try .list(try await templates.list(in: try context.managedUserSpace))
    }
}

/// `GET /auth/mail/templates/{kind}/{language}`, for the app's own server; 404 where the app has none of its own.
struct ReadMailTemplate: Endpoint {
    static let route = Route(
        .get, "/auth/mail/templates/{kind}/{language}", "readMailTemplate",
        "A template of the app's own. Needs the master key.", callers: .server,
        parameters: [
            .path(
                "kind",
                .oneOf(
                    "verify-email", "reset-password", "sign-in", "change-email", "invitation", "email-changed",
                    "password-changed", "new-device"))
        ],
        answers: [
            .answer(200, "The template.", .json(.object))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let templates: MailTemplateStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, kind, language) = (try context.managedUserSpace, try context.mailKind, try context.language)
        guard let template = try await templates.find(kind, [language.text.lowercased()], isStrict: true, in: space)
        else { throw HTTPProblem(.notFound) }
        return try .encoding(template)
    }
}

/// `PUT /auth/mail/templates/{kind}/{language}` with `subject`, `text` and if wanted `html`, for the app's own server;
/// 200 with the template.
struct ReplaceMailTemplate: Endpoint {
    static let route = Route(
        .put, "/auth/mail/templates/{kind}/{language}", "replaceMailTemplate",
        "Writes a template. Needs the master key.", callers: .server,
        parameters: [
            .path(
                "kind",
                .oneOf(
                    "verify-email", "reset-password", "sign-in", "change-email", "invitation", "email-changed",
                    "password-changed", "new-device"))
        ],
        body: .json(
            .object(
                [
                    "subject": .string,
                    "text": .string,
                    "html": .string,
                ]), isRequired: false),
        answers: [
            .answer(200, "The template.", .json(.object))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let templates: MailTemplateStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, kind, language) = (try context.managedUserSpace, try context.mailKind, try context.language)
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

/// `DELETE /auth/mail/templates/{kind}/{language}`, for the app's own server; 204.
struct DeleteMailTemplate: Endpoint {
    static let route = Route(
        .delete, "/auth/mail/templates/{kind}/{language}", "deleteMailTemplate",
        "Removes a template. Needs the master key.", callers: .server,
        parameters: [
            .path(
                "kind",
                .oneOf(
                    "verify-email", "reset-password", "sign-in", "change-email", "invitation", "email-changed",
                    "password-changed", "new-device"))
        ],
        answers: [
            .answer(204, "Done.")
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let templates: MailTemplateStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, kind, language) = (try context.managedUserSpace, try context.mailKind, try context.language)
        guard try await templates.remove(kind, language, in: space) else { throw HTTPProblem(.notFound) }
        return Response(status: .noContent)
    }
}

extension ServiceContext {
    fileprivate var mailKind: MailKind {
        get throws {
            guard let kind = parameters.get("kind").flatMap(MailKind.init) else {
                throw HTTPProblem(
                    .invalidName, "There are \(MailKind.allCases.map(\.rawValue).joined(separator: ", ")).",
                    field: "kind")
            }
            return kind
        }
    }

    fileprivate var language: LanguageTag {
        get throws {
            guard let tag = parameters.get("language").flatMap({ LanguageTag($0) }) else {
                throw HTTPProblem(.invalidName, "This is not a language, such as en or de-AT.", field: "language")
            }
            return tag
        }
    }
}
