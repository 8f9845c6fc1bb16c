import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletLocalization

/// `GET /config/translation/{version}/coverage?version=`: how far each language is.
///
///     {"sourceLanguage": "en", "keys": 120, "data": [{"language": "de", "published": true, "missing": 3,
///     "needsReview": 1}]}
struct ReadCoverage: Endpoint {
    let documents: DocumentStore
    let versions: VersionStore
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let key = try context.translationKey(kinds)
        _ = try context.author(may: .read, key.kind.area)
        try request.allowParameters(["version"])
        let catalogue = try await documents.catalogue(key, in: try context.space, request, versions)
        let published = catalogue.publishedLanguages
        let coverage = catalogue.coverage
        let rows = coverage.map { row in
            JSONValue.object([
                .init("language", .string(row.language.text)),
                .init("published", .bool(published.contains(row.language))),
                .init("missing", .number(String(row.missing))), .init("needsReview", .number(String(row.needsReview))),
            ])
        }
        return .json(
            JSONValue.object([
                .init("sourceLanguage", .string(catalogue.sourceLanguage.text)),
                .init("keys", .number(String(coverage.first?.keys ?? 0))),
                .init("data", .array(rows)),
            ]).text)
    }
}
