import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletLocalization

/// Merges texts into the draft, which is created if there is none:
///
///     {"version": "1.2.0", "language": "de", "strings": {"greeting": "Hallo %@", "dogs|==|plural.one": "Ein Hund", …},
///      "sourceLanguage": "en", "published": true, "publish": true, "note": "…"}
///
/// `published` turns the language on or off. `publish` publishes the draft in the same transaction; if that fails,
/// nothing is written.
struct PostTranslation: Endpoint {
    static let route = Route(
        .post, "/translation", "postTranslation",
        "Stores texts of one language in the draft of an app version and, if requested, publishes the draft.",
        callers: .manager(.update, .languages),
        body: .json(
            .object(
                [
                    "version": .string,
                    "language": .string,
                    "sourceLanguage": .string,
                    "strings": .map(of: .string),
                    "published": .boolean,
                    "publish": .boolean,
                    "note": .string.maxLength(2_000),
                ], required: ["version", "language", "strings"])),
        answers: [
            .answer(
                200, "The draft's revision and, with `publish`, the version that is now live.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "published": .configVersion,
                        ])))
        ],
        errors: [
            404: "The credential belongs to no app (`app-not-found`).",
            422: "The draft has errors: see `findings` (`document-refused`). Nothing was written.",
        ])

    let documents: DocumentStore
    let publisher: Publisher
    let kind: TranslationKind

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let author = try context.author(may: .update, .languages)
        let fields = try await BodyFields(
            request, ["version", "language", "strings", "sourceLanguage", "published", "publish", "note"],
            upTo: LocalizationLimits.documentSizeInBytes)
        let change = try Change(fields)
        let publication = Publisher.Request(
            key: change.key, space: try context.space, note: try fields.note(), author: author)
        guard try fields.flag("publish") ?? false else {
            let edited = try await documents.edit(
                change.key, in: publication.space, if: .none, by: author, maximumDocuments: kind.maximumDocuments
            ) { try change.applied(to: $0) }
            return .json(#"{"revision":\#(edited.revision)}"#)
        }
        return .json(
            try await publisher.run(publication, createIfMissing: true) { document, space, transaction in
                let draft = try change.applied(
                    to: document.lastVersion == 0 && document.draft == "{}" ? nil : document.draft)
                let revision = try await DocumentStore.setDraft(draft, of: document.id, by: author, transaction)
                let published = try await publisher.add(draft, publication, document, space, .publish, transaction).json
                return #"{"revision":\#(revision),"published":\#(published)}"#
            })
    }

    private struct Change: Sendable {
        let key: DocumentKey
        let language: LanguageTag
        private let sourceLanguage: LanguageTag
        private let texts: Catalogue
        private let isPublished: Bool?

        init(_ fields: BodyFields) throws {
            key = try DocumentKey(checking: try fields.requiredString("version"), of: .translation)
            if let problem = TranslationKind().problem(withName: key.name) {
                throw ServiceError(.invalidBody, problem, field: "version")
            }
            guard let language = LanguageTag(try fields.requiredString("language")) else {
                throw Self.noLanguage("language")
            }
            guard let source = try fields.string("sourceLanguage").map({ LanguageTag($0) }) ?? language else {
                throw Self.noLanguage("sourceLanguage")
            }
            guard let strings = fields["strings"] else {
                throw ServiceError(.invalidBody, "This field is required.", field: "strings")
            }
            self.language = language
            sourceLanguage = source
            isPublished = try fields.flag("published")
            do {
                texts = try CatalogueFormat.json.read(
                    Array(strings.text.utf8), .init(language: language, sourceLanguage: source))
            } catch let fault as LocalizationFault {
                throw ServiceError(.invalidBody, fault.reason, field: "strings" + fault.place)
            }
        }

        func applied(to draft: String?) throws -> String {
            var catalogue = try draft.map { try Catalogue(draft: $0) } ?? Catalogue(sourceLanguage: sourceLanguage)
            _ = catalogue.merge(texts, Catalogue.MergeRule(.json, replaces: false, of: language, in: catalogue))
            if let isPublished { catalogue.declare(language, isPublished: isPublished) }
            return try catalogue.draft()
        }

        private static func noLanguage(_ field: String) -> ServiceError {
            ServiceError(.invalidBody, "Expected a language tag such as de or pt-BR.", field: field)
        }
    }
}
