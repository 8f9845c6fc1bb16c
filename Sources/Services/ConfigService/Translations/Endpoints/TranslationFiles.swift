import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletLocalization
import NIOCore
import Synchronization

/// `POST /config/translation/{version}/import?format=&language=&sourceLanguage=&mode=&placeholders=&dryRun=` with a
/// file as the body: its texts come into the draft, which is made if there is none.
///
/// `mode=replace` removes what the file lacks from the languages that it has; `merge`, which is the default, does not.
/// `If-Match` is taken where it is sent. 200 with the counts of keys added, changed, unchanged and removed, and what is
/// wrong or doubtful then. With `dryRun=true` nothing is written.
struct ImportTranslations: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/import", "importTranslations", "Brings a file into the draft.",
        callers: .documentManagers(.create, .update),
        parameters: [
            .path("kind", .oneOf("translation")),
            .path("name", .string, "The app version."),
            .query(
                "format", .oneOf("xcstrings", "strings", "stringsdict", "xliff", "android", "json", "csv"),
                isRequired: true),
            .query("language", .string, "Needed for all but xcstrings, xliff and csv."),
            .query("sourceLanguage", .string, "Of a draft that is new."),
            .query("mode", .oneOf("merge", "replace").defaulting(to: "merge")),
            .query("placeholders", .oneOf("apple", "android", "braces").defaulting(to: "apple"), "Of JSON."),
            .query("dryRun", .boolean, "Writes nothing."),
            .header("If-Match"),
        ],
        body: .contents(.type("*/*", .bytes)),
        answers: [
            .answer(
                200, "Keys `added`, `changed`, `unchanged`, `removed`, the `revision` and `findings`.", .json(.object))
        ],
        errors: [
            404: """
            There is no such document, language, version or key (`document-not-found`, `version-not-found`).
            """, 412: "The draft has another revision.",
        ])

    private enum Mode: String, CaseIterable {
        case merge, replace
    }

    let documents: DocumentStore
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let key = try context.translationKey(kinds)
        _ = try context.author(may: .update, key.kind.area)
        if let problem = TranslationKind().problem(withName: key.name) {
            throw HTTPProblem(.invalidName, problem, field: "name")
        }
        let format = try request.format
        let replaces = try request.choice("mode", Mode.self) == .replace
        let space = try context.space
        let condition = try DraftCondition(ifAnyIn: request)
        let bytes = Array((try await request.wholeBody(upTo: LocalizationLimits.fileSizeInBytes)).readableBytesView)

        let known = try await documents.read(key, in: space)
        let author = try context.author(may: known?.draft == nil ? .create : .update, key.kind.area)
        let options = try request.options(
            format, sourceLanguage: try known?.draft.map { try Catalogue(draft: $0).sourceLanguage })
        let file = try Self.read(bytes, format, options)
        let merge = { @Sendable (draft: String?) throws -> (catalogue: Catalogue, changes: Catalogue.Changes) in
            var catalogue = try draft.map { try Catalogue(draft: $0) } ?? Catalogue(sourceLanguage: file.sourceLanguage)
            let changes = catalogue.merge(
                file, Catalogue.MergeRule(format, replaces: replaces, of: options.language, in: catalogue))
            return (catalogue, changes)
        }
        if try request.flag("dryRun") {
            try condition.check(known)
            let merged = try merge(known?.draft)
            _ = try merged.catalogue.draft()
            return Self.answer(merged.catalogue, merged.changes, revision: nil)
        }
        let result = Mutex<(catalogue: Catalogue, changes: Catalogue.Changes)?>(nil)
        let edited = try await documents.edit(
            key, in: space, if: condition, by: author, maximumDocuments: kinds[key.kind]?.maximumDocuments ?? 0
        ) {
            let merged = try merge($0)
            result.withLock { $0 = merged }
            return try merged.catalogue.draft()
        }
        guard let (catalogue, changes) = result.withLock({ $0 }) else { throw HTTPProblem(.internalError) }
        return Self.answer(catalogue, changes, revision: edited.revision)
    }

    private static func read(_ bytes: [UInt8], _ format: CatalogueFormat, _ options: CatalogueFormat.Options) throws
        -> Catalogue
    {
        do {
            return try format.read(bytes, options)
        } catch let fault as LocalizationFault where fault.place == "language" {
            throw HTTPProblem(.invalidParameter, fault.reason, field: fault.place)
        } catch let fault as LocalizationFault {
            throw HTTPProblem(.invalidBody, fault.reason, field: fault.place.isEmpty ? nil : fault.place)
        }
    }

    private static func answer(_ catalogue: Catalogue, _ changes: Catalogue.Changes, revision: Int64?) -> Response {
        let findings = Lint.findings(in: catalogue).map(Finding.init)
        var members = changes.members
        if let revision { members.insert(.init("revision", .number(String(revision))), at: 0) }
        var response = Response.json(JSONValue.object(members + [.init("findings", findings.limited.json)]).text)
        if let revision { response.headers[.eTag] = EntityTag(text: String(revision)).header }
        return response
    }
}

/// `GET /config/translation/{version}/export?format=&language=&version=&placeholders=&encoding=&report=`: the texts of
/// the draft, of what is live, or of a version by its number, as a file. `language=en-XA` exports the pseudo-locale.
///
/// What the format cannot hold is left out; `Skipped-Texts` counts it, and `report=true` answers with the keys and
/// reasons instead of the file.
struct ExportTranslations: Endpoint {
    static let route = Route(
        .get, "/config/{kind}/{name}/export", "exportTranslations", "The draft, or a version, as a file.",
        callers: .documentManagers(.read),
        parameters: [
            .path("kind", .oneOf("translation")),
            .path("name", .string, "The app version."),
            .query(
                "format", .oneOf("xcstrings", "strings", "stringsdict", "xliff", "android", "json", "csv"),
                isRequired: true),
            .query("language", .string, "Needed for all but xcstrings and csv; `en-XA` is the pseudo-locale."),
            .query("version", .string, "`draft` (if nothing is said), `live` or a version."),
            .query("placeholders", .oneOf("apple", "android", "braces").defaulting(to: "apple"), "Of JSON."),
            .query("encoding", .oneOf("utf-8", "utf-16").defaulting(to: "utf-8"), "Of .strings."),
            .query("report", .boolean, "Answers with what the file cannot hold."),
        ],
        answers: [
            .answer(200, "The file; `Skipped-Texts` counts what it cannot hold.", .type("*/*", .bytes))
        ],
        errors: [
            404: """
            There is no such document, language, version or key (`document-not-found`, `version-not-found`).
            """
        ])

    let documents: DocumentStore
    let versions: VersionStore
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let key = try context.translationKey(kinds)
        _ = try context.author(may: .read, key.kind.area)
        let format = try request.format
        var catalogue = try await documents.catalogue(key, in: try context.space, request, versions)
        let options = try request.options(format, sourceLanguage: catalogue.sourceLanguage)
        if let language = options.language, language.text == PseudoLocale.language {
            catalogue.addPseudoLocale(language)
        }
        let export: CatalogueFormat.Export
        do {
            export = try format.write(catalogue, options)
        } catch let fault as LocalizationFault {
            throw HTTPProblem(.invalidParameter, fault.reason, field: fault.place)
        }
        if try request.flag("report") {
            let skipped = export.skipped.prefix(1_000).map {
                JSONValue.object([.init("key", .string($0.place)), .init("reason", .string($0.reason))]).text
            }
            return .page(skipped)
        }
        let name =
            [key.name, options.language?.text].compactMap(\.self).joined(separator: "-") + "." + format.fileExtension
        let headers: HTTPFields = [
            .contentType: format.contentType + (format == .strings ? "; charset=\(options.encoding.rawValue)" : ""),
            .contentDisposition: "attachment; filename=\"\(name)\"", .skipped: String(export.skipped.count),
            .cacheControl: "no-store",
        ]
        return Response(status: .ok, headers: headers, body: .whole(ByteBuffer(bytes: export.bytes)))
    }
}

extension HTTPField.Name {
    /// How many texts a file could not hold. Without `x-martlet-` in front, so that gateways let it pass.
    fileprivate static let skipped = HTTPField.Name("Skipped-Texts")!
}

extension Request {
    /// - Throws: `invalid-parameter`.
    fileprivate var format: CatalogueFormat {
        get throws {
            guard let format = try choice("format", CatalogueFormat.self) else {
                throw HTTPProblem(
                    .invalidParameter,
                    "This is required: \(CatalogueFormat.allCases.map(\.rawValue).joined(separator: ", ")).",
                    field: "format")
            }
            return format
        }
    }

    /// - Parameter sourceLanguage: the catalogue's; nil: it is new, so that the request says it, or the file.
    /// - Throws: `invalid-parameter`.
    fileprivate func options(_ format: CatalogueFormat, sourceLanguage: LanguageTag?) throws -> CatalogueFormat.Options
    {
        let language = try self.language("language")
        guard
            let source = try sourceLanguage ?? self.language("sourceLanguage") ?? language
                ?? (format == .xcstrings ? LanguageTag("en") : nil)
        else {
            throw HTTPProblem(.invalidParameter, "The draft is new: name its source language.", field: "sourceLanguage")
        }
        var options = CatalogueFormat.Options(language: language, sourceLanguage: source)
        options.placeholders = try choice("placeholders", PlaceholderStyle.self) ?? .apple
        options.encoding = try choice("encoding", TextEncoding.self) ?? .utf8
        return options
    }
}
