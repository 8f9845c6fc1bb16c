import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletLocalization

/// `GET /translation/{language}/{version}`: the texts of an app version's live translations in a language, or in the
/// next of its parents that is published (`Content-Language` says which). `ETag`, 304 and gzip are of this language
/// alone; `Translation-Version` is the publication: `"1.2.0~7"`. An app version without translations of its own has
/// those of the newest version that is not above it.
///
/// `GET /translationVersion/{language}/{version}~{number}`: the same of one published version, which must be the live
/// one.
///
/// In the test environment `en-XA` is a pseudo-locale.
struct ReadTranslation: Endpoint {
    static let route = Route(
        .get, "/translation/{language}/{version}", "readTranslation",
        """
        The live texts of an app version in a language; those of the newest version below it, where it has \
        none.
        """, callers: .client,
        parameters: [
            .path("language", .string, "A language tag: `de`, `pt-BR`."),
            .path("version", .string, "The app version."),
            .header("If-None-Match"),
        ],
        answers: [
            .answer(
                200,
                """
                The texts; `Content-Language` says which language it is, `Translation-Version` which publication.
                """, .json(.translationTable)),
            .answer(304, "The client has it: `If-None-Match` names its ETag."),
        ],
        errors: [
            404: """
            There is no such document, language, version or key (`document-not-found`, `version-not-found`).
            """
        ])
    static let readTranslationVersion = Route(
        .get, "/translationVersion/{language}/{version}", "readTranslationVersion",
        "The same of one publication, as long as it is live.", callers: .client,
        parameters: [
            .path("language", .string, "A language tag: `de`, `pt-BR`."),
            .path("version", .string, "App version and publication: `1.2.0~7`."),
            .header("If-None-Match"),
        ],
        answers: [
            .answer(
                200,
                """
                The texts; `Content-Language` says which language it is, `Translation-Version` which publication.
                """, .json(.translationTable)),
            .answer(304, "The client has it: `If-None-Match` names its ETag."),
        ],
        errors: [
            404: """
            There is no such document, language, version or key (`document-not-found`, `version-not-found`).
            """
        ])

    let live: LiveDocuments
    let isVersioned: Bool

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let language = context.parameters.get("language").flatMap({ LanguageTag($0) }) else {
            throw HTTPProblem(.documentNotFound, "The path needs a language tag such as de or pt-BR.")
        }
        let space = try context.space
        let (name, number) = try place(context.parameters.get("version") ?? "")
        let current = try await live.current(space)
        let found = isVersioned ? current[DocumentKey(.translation, name)] : current.translations(for: name)
        guard let document = found, let tables = document.compiled as? TranslationTables else {
            throw HTTPProblem(.documentNotFound, "No translations are live for this app version.")
        }
        guard number == nil || number == document.version else {
            throw HTTPProblem(.versionNotFound, "Version \(document.version) is live; this one is not.")
        }
        guard let table = tables.table(for: language, withPseudoLocale: space.environment == .test) else {
            throw HTTPProblem(.documentNotFound, "This language is not published for this app version.")
        }
        var headers: HTTPFields = [.contentLanguage: table.language.text]
        if let version = HTTPField.Name(HeaderName.translationVersion) {
            headers[version] = "\"\(document.key.name)~\(document.version)\""
        }
        return try .stored(table.stored, to: request, headers: headers)
    }

    /// The document's name, and the number of its version.
    private func place(_ text: String) throws -> (name: String, number: Int?) {
        guard isVersioned else { return (text, nil) }
        let parts = text.split(separator: "~", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int(parts[1]), number > 0 else {
            throw HTTPProblem(
                .versionNotFound,
                "A version of translations is called like 1.2.0~7: the app version, and the number of the publication.")
        }
        return (String(parts[0]), number)
    }
}
