import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletLocalization
import NIOCore
import Synchronization

/// Changes the draft under the document's lock, and creates the document if there is none. `mode=replace` also removes
/// the texts that the file lacks, in the languages that the file contains. `If-Match` is optional.
struct ImportTranslations: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/import", "importTranslations",
        "Imports the texts of a file into the draft, which is created if there is none.",
        callers: .documentManagers(.create, .update),
        parameters: [
            .path("kind", .oneOf("translation")),
            .translationsName,
            .query(
                "format", .oneOf("xcstrings", "strings", "stringsdict", "xliff", "android", "json", "csv"),
                isRequired: true),
            .query("language", .string, "The language of the file; required except for xcstrings, xliff and csv."),
            .query("sourceLanguage", .string, "The source language of a new draft; by default `language`."),
            .query("mode", .oneOf("merge", "replace").defaulting(to: "merge")),
            .query(
                "placeholders", .oneOf("apple", "android", "braces").defaulting(to: "apple"),
                "The style of placeholders in the format json."),
            .query("dryRun", .boolean, "Reports the changes without writing anything."),
            .header("If-Match"),
        ],
        body: .contents(.type("*/*", .bytes)),
        answers: [
            .answer(
                200,
                """
                The number of keys `added`, `changed`, `unchanged` and `removed`, the draft's `revision` and \
                `findings`.
                """,
                .json(.object))
        ],
        errors: [
            404: "The kind in the path is not `translation` (`not-found`).",
            412: "The draft does not meet `If-Match` (`precondition-failed`).",
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
            throw ServiceError(.invalidName, problem, field: "name")
        }
        let format = try request.format
        let replaces = try request.choice("mode") == Mode.replace
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
        guard let (catalogue, changes) = result.withLock({ $0 }) else { throw ServiceError(.internalError) }
        return Self.answer(catalogue, changes, revision: edited.revision)
    }

    private static func read(_ bytes: [UInt8], _ format: CatalogueFormat, _ options: CatalogueFormat.Options) throws
        -> Catalogue
    {
        do {
            return try format.read(bytes, options)
        } catch let fault as LocalizationFault where fault.place == "language" {
            throw ServiceError(.invalidParameter, fault.reason, field: fault.place)
        } catch let fault as LocalizationFault {
            throw ServiceError(.invalidBody, fault.reason, field: fault.place.isEmpty ? nil : fault.place)
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

/// Leaves out the texts that the format cannot hold. `Skipped-Texts` counts them; `report` lists at most 1,000 of them,
/// with reasons, instead of the file.
struct ExportTranslations: Endpoint {
    static let route = Route(
        .get, "/config/{kind}/{name}/export", "exportTranslations",
        "Exports the texts of the draft or of a version as a file.",
        callers: .documentManagers(.read),
        parameters: [
            .path("kind", .oneOf("translation")),
            .translationsName,
            .query(
                "format", .oneOf("xcstrings", "strings", "stringsdict", "xliff", "android", "json", "csv"),
                isRequired: true),
            .query(
                "language", .string,
                "The language to export; required except for xcstrings and csv. `en-XA` is the pseudo-locale."),
            .query("version", .string, "`draft`, `live` or a version's number; by default `draft`."),
            .query(
                "placeholders", .oneOf("apple", "android", "braces").defaulting(to: "apple"),
                "The style of placeholders in the format json."),
            .query(
                "encoding", .oneOf("utf-8", "utf-16").defaulting(to: "utf-8"), "The encoding in the format strings."),
            .query(
                "report", .boolean, "Returns the keys that the file cannot hold, with reasons, instead of the file."),
        ],
        answers: [
            .answer(200, "The file. `Skipped-Texts` counts the texts that it cannot hold.", .type("*/*", .bytes))
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
            throw ServiceError(.invalidParameter, fault.reason, field: fault.place)
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
    /// The number of texts that the file could not hold. Has no prefix `x-martlet-`, because gateways remove such
    /// headers.
    fileprivate static let skipped = HTTPField.Name("Skipped-Texts")!
}

extension Request {
    /// - Throws: `invalid-parameter`.
    fileprivate var format: CatalogueFormat {
        get throws {
            guard let format: CatalogueFormat = try choice("format") else {
                throw ServiceError(
                    .invalidParameter,
                    "This parameter is required; it must be one of \(CatalogueFormat.allCases.map(\.rawValue).joined(separator: ", ")).",
                    field: "format")
            }
            return format
        }
    }

    /// - Parameter sourceLanguage: The catalogue's source language; nil for a new catalogue, which gets it from the
    ///   request.
    /// - Throws: `invalid-parameter`.
    fileprivate func options(_ format: CatalogueFormat, sourceLanguage: LanguageTag?) throws -> CatalogueFormat.Options
    {
        let language = try self.language("language")
        guard
            let source = try sourceLanguage ?? self.language("sourceLanguage") ?? language
                ?? (format == .xcstrings ? LanguageTag("en") : nil)
        else {
            throw ServiceError(
                .invalidParameter, "The draft is new, so its source language is required.", field: "sourceLanguage")
        }
        var options = CatalogueFormat.Options(language: language, sourceLanguage: source)
        options.placeholders = try choice("placeholders") ?? .apple
        options.encoding = try choice("encoding") ?? .utf8
        return options
    }
}
