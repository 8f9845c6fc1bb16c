import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletLocalization

/// Falls back to the nearest published parent of the language, and for an app version without translations to the
/// newest version below it. The test environment also has the pseudo-locale `en-XA`.
struct ReadTranslation: Endpoint {
    static let route = Route(
        .get, "/translation/{language}/{version}", "readTranslation",
        """
        Returns the live texts of an app version in a language; a version without translations gets those of the \
        newest version below it.
        """, callers: .client,
        parameters: [
            .path("language", .string, "A language tag, such as `de` or `pt-BR`."),
            .path("version", .string, "The app version."),
            .generation,
            .header("If-None-Match"),
        ],
        answers: [
            .answer(
                200,
                """
                The texts. `Content-Language` names the language, which can be a parent of the requested one; \
                `Translation-Version` names the version, such as `"1.2.0~7"`.
                """, .json(.translationTable)),
            .answer(304, "The client's copy is current: `If-None-Match` names its `ETag`."),
        ],
        errors: [
            404: """
            No translations are live for this app version, or the language is not published \
            (`document-not-found`).
            """
        ])
    static let readTranslationVersion = Route(
        .get, "/translationVersion/{language}/{version}", "readTranslationVersion",
        "Returns the texts of one version of the translations in a language, as long as that version is live.",
        callers: .client,
        parameters: [
            .path("language", .string, "A language tag, such as `de` or `pt-BR`."),
            .path(
                "version", .string,
                "The app version and the number of the version of its translations, such as `1.2.0~7`."),
            .generation,
            .header("If-None-Match"),
        ],
        answers: [
            .answer(
                200,
                """
                The texts. `Content-Language` names the language, which can be a parent of the requested one; \
                `Translation-Version` names the version, such as `"1.2.0~7"`.
                """, .json(.translationTable)),
            .answer(304, "The client's copy is current: `If-None-Match` names its `ETag`."),
        ],
        errors: [
            404: """
            No translations are live for this app version, or the language is not published (`document-not-found`); or \
            another version is live (`version-not-found`).
            """
        ])

    let live: LiveDocuments
    let isVersioned: Bool

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let language = context.parameters.get("language").flatMap({ LanguageTag($0) }) else {
            throw ServiceError(.documentNotFound, "The path must contain a language tag such as de or pt-BR.")
        }
        let space = try context.space
        let (name, number) = try nameAndNumber(in: context.parameters.get("version") ?? "")
        let current = try await live.current(space, reaching: request.generation)
        let found = isVersioned ? current[DocumentKey(.translation, name)] : current.translations(for: name)
        guard let document = found, let tables = document.compiled as? TranslationTables else {
            throw ServiceError(.documentNotFound, "No translations are live for this app version.")
        }
        guard number == nil || number == document.version else {
            throw ServiceError(.versionNotFound, "This version is not live; version \(document.version) is.")
        }
        guard let table = tables.table(for: language, withPseudoLocale: space.environment == .test) else {
            throw ServiceError(.documentNotFound, "This language is not published for this app version.")
        }
        var headers: HTTPFields = [.contentLanguage: table.language.text]
        if let version = HTTPField.Name(HeaderName.translationVersion) {
            headers[version] = "\"\(document.key.name)~\(document.version)\""
        }
        return try .stored(table.stored, to: request, headers: headers)
    }

    /// The document's name and, on the versioned route, the number of its version.
    private func nameAndNumber(in text: String) throws -> (name: String, number: Int?) {
        guard isVersioned else { return (text, nil) }
        let parts = text.split(separator: "~", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int(parts[1]), number > 0 else {
            throw ServiceError(
                .versionNotFound,
                "Expected the app version and the number of the version of its translations, such as 1.2.0~7.")
        }
        return (String(parts[0]), number)
    }
}
