import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletLocalization

extension ServiceContext {
    /// The translations in the path. Other kinds of documents have no keys.
    ///
    /// - Throws: `not-found`, `invalid-name`.
    func translationKey(_ kinds: Kinds) throws -> DocumentKey {
        guard try kind(kinds) == .translation else { throw ServiceError(.notFound) }
        return try documentKey(kinds)
    }
}

extension DocumentStore {
    /// The catalogue named by the parameter `version`: the draft (`draft`, the default), the live version or a version
    /// by its number.
    ///
    /// - Throws: `document-not-found`, `version-not-found`, `document-refused` for a draft that is not a valid
    ///   catalogue.
    func catalogue(_ key: DocumentKey, in space: AppSpace, _ request: Request, _ versions: VersionStore) async throws
        -> Catalogue
    {
        guard let document = try await read(key, in: space), let draft = document.draft else {
            throw ServiceError(.documentNotFound)
        }
        let wanted = request.uri.queryParameters["version"].map(String.init) ?? "draft"
        if wanted == "draft" { return try Catalogue(draft: draft) }
        guard let version = wanted == "live" ? document.liveVersion : Int(wanted),
            let (_, content) = try await versions.read(version, of: key, in: space)
        else { throw ServiceError(.versionNotFound, "There is no such version.", field: "version") }
        return try Catalogue(draft: content)
    }
}

extension Catalogue {
    /// - Throws: `document-refused` with the reason why the draft is not a valid catalogue.
    init(draft: String) throws {
        do {
            try self.init(try JSONValue(parsing: draft.utf8))
        } catch let fault as LocalizationFault {
            throw ServiceError(
                .documentRefused, "The draft is not a valid catalogue; correct it first.", findings: [Finding(fault)])
        }
    }

    /// The catalogue as the text of a draft.
    ///
    /// - Throws: `invalid-body` if it exceeds the limits of a catalogue, `payload-too-large`.
    func draft() throws -> String {
        let json = json()
        do {
            _ = try Catalogue(json)
        } catch let fault as LocalizationFault {
            throw ServiceError(.invalidBody, fault.reason, field: fault.place)
        }
        return try json.draft(upTo: LocalizationLimits.documentSizeInBytes)
    }

    /// Publishes or unpublishes a language. A catalogue that declares no languages publishes all of them, so all are
    /// declared first.
    mutating func declare(_ language: LanguageTag, isPublished: Bool) {
        if languages.isEmpty { for other in allLanguages { languages[other] = Language(isPublished: true) } }
        languages[language, default: Language(isPublished: isPublished)].isPublished = isPublished
    }
}

extension Catalogue.Changes {
    var members: [JSONValue.Member] {
        [("added", added), ("changed", changed), ("unchanged", unchanged), ("removed", removed)].map {
            .init($0, .number(String($1)))
        }
    }
}

extension Request {
    /// A language tag from the query.
    ///
    /// - Throws: `invalid-parameter`.
    func language(_ name: Substring) throws -> LanguageTag? {
        guard let text = uri.queryParameters[name] else { return nil }
        guard let language = LanguageTag(String(text)) else {
            throw ServiceError.unexpectedParameter(
                name, expected: "a language tag such as de or pt-BR", found: text)
        }
        return language
    }
}
