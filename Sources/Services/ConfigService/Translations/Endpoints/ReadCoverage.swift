import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletLocalization

struct ReadCoverage: Endpoint {
    static let route = Route(
        .get, "/config/{kind}/{name}/coverage", "readCoverage",
        "Counts the missing and unreviewed texts of each language.",
        callers: .documentManagers(.read),
        parameters: [
            .path("kind", .oneOf("translation")),
            .translationsName,
            .query("version", .string, "`draft`, `live` or a version's number; by default `draft`."),
        ],
        answers: [
            .answer(
                200,
                """
                `sourceLanguage`, `keys` in total, and in `data` each language with `published`, `missing` and \
                `needsReview`.
                """,
                .json(.object))
        ],
        errors: [
            404: "There is no such document or version (`document-not-found`, `version-not-found`)."
        ])

    let documents: DocumentStore
    let versions: VersionStore
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let key = try context.translationKey(kinds)
        _ = try context.author(may: .read, key.kind.area)
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
