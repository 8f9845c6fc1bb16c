import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ListMailTemplates: Endpoint {
    static let route = Route(
        .get, "/notifications/mail/templates", "listAppMailTemplates",
        "Lists the app's mail templates with their languages and subjects.",
        callers: .manager(.read, .notifications),
        answers: [
            .answer(
                200, "All mail templates.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "name": .string,
                                        "language": .string,
                                        "subject": .string,
                                        "author": .string,
                                        "updated": .time,
                                    ])),
                        ])))
        ])

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, mail.spaces)
        return .page(try await mail.templates.list(in: space))
    }
}

struct ReadMailTemplate: Endpoint {
    static let route = Route(
        .get, "/notifications/mail/templates/{name}", "readAppMailTemplate",
        "Reads a mail template in all its languages.",
        callers: .manager(.read, .notifications),
        parameters: [
            .path("name", .string.maxLength(64))
        ],
        answers: [
            .answer(
                200, "The template in all its languages.",
                .json(
                    .object(
                        [
                            "name": .string,
                            "languages": .map(
                                of: .object(
                                    [
                                        "subject": .string,
                                        "text": .string,
                                        "html": .string,
                                    ], required: ["subject", "text"])),
                        ])))
        ],
        errors: [404: "The app has no such template (`template-not-found`)."])

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, mail.spaces)
        let name = try context.pathName
        let templates = try await mail.templates.all(name, in: space)
        guard !templates.isEmpty else { throw ServiceError(.templateNotFound) }
        return try .template(name, templates)
    }
}

struct ReplaceMailTemplate: Endpoint {
    static let route = Route(
        .put, "/notifications/mail/templates/{name}", "replaceAppMailTemplate",
        "Creates or replaces a mail template in one language.",
        callers: .manager(.update, .notifications),
        parameters: [
            .path("name", .string.maxLength(64)),
            .query("language", .string, "A language tag. The default is `en`."),
        ],
        body: .json(
            .object(
                [
                    "subject": .string,
                    "text": .string,
                    "html": .string,
                ], required: ["subject", "text"])),
        answers: [
            .answer(
                200, "The template as stored, in all its languages.",
                .json(
                    .object(
                        [
                            "name": .string,
                            "languages": .map(
                                of: .object(
                                    [
                                        "subject": .string,
                                        "text": .string,
                                        "html": .string,
                                    ], required: ["subject", "text"])),
                        ])))
        ],
        errors: [413: "The body is too large (`payload-too-large`)."])

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.notifications(may: .update, mail.spaces)
        let name = try context.pathName
        let language = try request.templateLanguage ?? "en"
        let fields = try await BodyFields(request, ["subject", "text", "html"], upTo: MailOrder.maximumBodySizeInBytes)
        let words = MailContent.Words(
            subject: try fields.requiredString("subject"), text: try fields.requiredString("text"),
            html: try fields.string("html"))
        _ = try words.template
        try await mail.templates.replace(
            AppMailTemplate(name: name, language: language, words: words), by: author, in: space)
        return try .template(name, try await mail.templates.all(name, in: space))
    }
}

struct DeleteMailTemplate: Endpoint {
    static let route = Route(
        .delete, "/notifications/mail/templates/{name}", "deleteAppMailTemplate",
        "Deletes a mail template in one language, or in all languages.", callers: .manager(.delete, .notifications),
        parameters: [
            .path("name", .string.maxLength(64)),
            .query("language", .string, "A language tag. Without it, all languages are deleted."),
        ],
        answers: [
            .answer(204, "The template is deleted.")
        ],
        errors: [404: "The app has no such template (`template-not-found`)."])

    let mail: Mail

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .delete, mail.spaces)
        let name = try context.pathName
        guard try await mail.templates.remove(name, try request.templateLanguage, in: space) else {
            throw ServiceError(.templateNotFound)
        }
        return Response(status: .noContent)
    }
}

extension Request {
    /// The `language` parameter in lower case; nil when missing.
    fileprivate var templateLanguage: String? {
        get throws {
            guard let text = uri.queryParameters["language"].map(String.init) else { return nil }
            guard let tag = LanguageTag(text) else {
                throw ServiceError(
                    .invalidParameter, "Expected a language tag, such as en or de-AT.", field: "language")
            }
            return tag.text.lowercased()
        }
    }
}

extension Response {
    fileprivate static func template(_ name: String, _ templates: [AppMailTemplate]) throws -> Response {
        struct Answer: Encodable {
            var name: String
            var languages: [String: MailContent.Words]
        }
        return try .encoding(
            Answer(name: name, languages: Dictionary(uniqueKeysWithValues: templates.map { ($0.language, $0.words) })))
    }
}
