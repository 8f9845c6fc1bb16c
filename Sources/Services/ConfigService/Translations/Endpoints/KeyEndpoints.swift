import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletLocalization

/// `missing=de` is short for `language=de&state=new`: the keys that German users see in another language. `state`
/// without `language` selects the keys that have the state in any language.
struct ListKeys: Endpoint {
    static let route = Route(
        .get, "/config/{kind}/{name}/keys", "listTranslationKeys",
        "Lists keys by name, each with its entry and its state in every language.",
        callers: .documentManagers(.read),
        parameters: [
            .path("kind", .oneOf("translation")),
            .translationsName,
            .query(
                "missing", .string, "Only keys without a usable text in this language; excludes `language` and `state`."
            ),
            .query("language", .string, "The language that `state` and `search` look at; by default all."),
            .query("state", .string, "Only keys with this state: `new`, `translated` or `needs_review`."),
            .query(
                "search", .string,
                "Only keys with this text in the key, the comment or a translation, whatever the case."),
            .query("after", .string, "`next` from the previous page: the page starts after this key."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
            .query("version", .string, "`draft`, `live` or a version's number; by default `draft`."),
        ],
        answers: [
            .answer(200, "A page of keys: `count`, `data`, and `next` if there are more.", .json(.object))
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
        let limit = try context.integer("limit")
        let filter = try KeyFilter(request)
        let catalogue = try await documents.catalogue(key, in: try context.space, request, versions)
        let after = request.uri.queryParameters["after"].map(String.init)
        let found = catalogue.entries.filter { $0.key > after ?? "" && filter.matches($0, of: catalogue) }.sorted {
            $0.key < $1.key
        }
        let languages = catalogue.allLanguages.sorted()
        let page = found.prefix(limit).map { entry in
            let states = languages.map {
                JSONValue.Member($0.text, .string(catalogue.state(of: entry, in: $0).rawValue))
            }
            return JSONValue.object([
                .init("key", .string(entry.key)), .init("entry", entry.json()), .init("states", .object(states)),
            ]).text
        }
        return .page(page, next: found.count > limit ? found[limit - 1].key : nil)
    }
}

private struct KeyFilter {
    private let language: LanguageTag?
    private let state: MartletLocalization.Unit.State?
    private let search: String?

    init(_ request: Request) throws {
        let missing = try request.language("missing")
        guard
            missing == nil
                || request.uri.queryParameters["language"] == nil && request.uri.queryParameters["state"] == nil
        else {
            throw ServiceError(
                .invalidParameter, "Send missing without language and state; it stands for both.", field: "missing")
        }
        language = try missing ?? request.language("language")
        state = missing == nil ? try request.choice("state") : .new
        search = request.uri.queryParameters["search"].map { $0.lowercased() }
    }

    func matches(_ entry: Entry, of catalogue: Catalogue) -> Bool {
        let languages = language.map { [$0] } ?? Array(catalogue.allLanguages)
        if let state, !languages.contains(where: { catalogue.state(of: entry, in: $0) == state }) { return false }
        guard let search else { return true }
        if entry.key.lowercased().contains(search) || entry.comment?.lowercased().contains(search) == true {
            return true
        }
        return entry.localizations.contains {
            (language == nil || language == $0.key)
                && $0.value.units().contains { $0.unit.value.lowercased().contains(search) }
        }
    }
}

/// Changes one key under the document's lock and leaves the rest of the draft as it is. A key that cannot be part of a
/// path, such as `a/b`, is sent in the query.
struct EditKey: Endpoint {
    static let route = Route(
        .put, "/config/{kind}/{name}/keys", "putTranslationKeyByQuery",
        "Stores the entry of a key that cannot be part of a path.",
        callers: .documentManagers(.update),
        parameters: [
            .path("kind", .oneOf("translation")),
            .translationsName,
            .query("key", isRequired: true),
            .header("If-Match", .string, "The draft's `ETag`, or `*` for any.", isRequired: true),
        ],
        body: .json(.translationEntry),
        answers: [
            .answer(
                200, "The draft's new revision, and the errors and warnings of the key.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .finding),
                        ])))
        ],
        errors: [
            404: "The kind in the path is not `translation` (`not-found`).",
            412: "The draft has changed, or there is none (`precondition-failed`).",
            428: "`If-Match` is missing (`precondition-required`).",
        ])
    static let patchTranslationKeyByQuery = route.by(
        .patch, "patchTranslationKeyByQuery",
        "Applies a merge patch (RFC 7396) to the entry of a key that cannot be part of a path.")
    static let deleteTranslationKeyByQuery = Route(
        .delete, "/config/{kind}/{name}/keys", "deleteTranslationKeyByQuery",
        "Deletes a key that cannot be part of a path.",
        callers: .documentManagers(.update),
        parameters: [
            .path("kind", .oneOf("translation")),
            .translationsName,
            .query("key", isRequired: true),
            .header("If-Match", .string, "The draft's `ETag`, or `*` for any.", isRequired: true),
        ],
        answers: [
            .answer(
                200, "The draft's new revision; `findings` is empty.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .finding),
                        ])))
        ],
        errors: [
            404: "The draft has no such key (`document-not-found`).",
            412: "The draft has changed, or there is none (`precondition-failed`).",
            428: "`If-Match` is missing (`precondition-required`).",
        ])
    static let putTranslationKey = Route(
        .put, "/config/{kind}/{name}/keys/{key}", "putTranslationKey", "Stores the entry of a key of the draft.",
        callers: .documentManagers(.update),
        parameters: [
            .path("kind", .oneOf("translation")),
            .translationsName,
            .header("If-Match", .string, "The draft's `ETag`, or `*` for any.", isRequired: true),
        ],
        body: .json(.translationEntry),
        answers: [
            .answer(
                200, "The draft's new revision, and the errors and warnings of the key.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .finding),
                        ])))
        ],
        errors: [
            404: "The kind in the path is not `translation` (`not-found`).",
            412: "The draft has changed, or there is none (`precondition-failed`).",
            428: "`If-Match` is missing (`precondition-required`).",
        ])
    static let patchTranslationKey = putTranslationKey.by(
        .patch, "patchTranslationKey",
        "Changes the entry of a key of the draft with a merge patch (RFC 7396).")
    static let deleteTranslationKey = Route(
        .delete, "/config/{kind}/{name}/keys/{key}", "deleteTranslationKey", "Deletes a key of the draft.",
        callers: .documentManagers(.update),
        parameters: [
            .path("kind", .oneOf("translation")),
            .translationsName,
            .header("If-Match", .string, "The draft's `ETag`, or `*` for any.", isRequired: true),
        ],
        answers: [
            .answer(
                200, "The draft's new revision; `findings` is empty.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .finding),
                        ])))
        ],
        errors: [
            404: "The draft has no such key (`document-not-found`).",
            412: "The draft has changed, or there is none (`precondition-failed`).",
            428: "`If-Match` is missing (`precondition-required`).",
        ])

    enum Action {
        case put, patch, delete
    }

    let documents: DocumentStore
    let kinds: Kinds
    let action: Action

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let document = try context.translationKey(kinds)
        let author = try context.author(may: .update, document.kind.area)
        guard
            let key = context.parameters.get("key")
                ?? request.uri.queryParameters["key"].map(String.init), !key.isEmpty
        else {
            throw ServiceError(.invalidParameter, "This parameter is required.", field: "key")
        }
        let condition = try DraftCondition(request)
        guard !condition.isForNew else {
            throw ServiceError(
                .invalidParameter, "Keys are changed in an existing draft; send If-Match instead.",
                field: "If-None-Match")
        }
        let body = action == .delete ? .object([]) : try await request.document(upTo: 1 << 20)
        let space = try context.space
        let edited = try await documents.edit(document, in: space, if: condition, by: author, maximumDocuments: 0) {
            [action] draft in
            try Self.edited(draft ?? "{}", key, action, body)
        }
        let findings = action == .delete ? [] : Self.findings(edited.draft, key)
        return .edited(edited, findings)
    }

    /// Leaves the rest of the draft as it is, even if other entries are invalid.
    private static func edited(_ draft: String, _ key: String, _ action: Action, _ body: JSONValue) throws -> String {
        let document = try JSONValue(parsing: draft.utf8)
        guard case .object(var members) = document, case .object(var strings)? = document["strings"] ?? .object([])
        else {
            throw ServiceError(.documentRefused, "The draft is not a valid catalogue; correct it first.")
        }
        let place = strings.firstIndex { $0.name == key }
        if action == .delete {
            guard let place else { throw ServiceError(.documentNotFound, "There is no such key.") }
            strings.remove(at: place)
        } else {
            let entry = action == .put ? body : (place.map { strings[$0].value } ?? .object([])).merging(body)
            do {
                _ = try Entry(key, entry, at: "")
            } catch let fault as LocalizationFault {
                throw ServiceError(.invalidBody, fault.reason, field: fault.place.isEmpty ? "key" : fault.place)
            }
            if let place { strings[place] = .init(key, entry) } else { strings.append(.init(key, entry)) }
            guard strings.count <= LocalizationLimits.keys else {
                throw ServiceError(.limitExceeded, "There may be at most \(LocalizationLimits.keys) keys.")
            }
        }
        if let index = members.firstIndex(where: { $0.name == "strings" }) {
            members[index] = .init("strings", .object(strings))
        } else {
            members.append(.init("strings", .object(strings)))
        }
        return try JSONValue.object(members).draft(upTo: LocalizationLimits.documentSizeInBytes)
    }

    /// The findings of one key, checked as the only key of the catalogue.
    private static func findings(_ draft: String, _ key: String) -> [Finding] {
        guard let document = try? JSONValue(parsing: draft.utf8), let entry = document["strings"]?[key],
            case .object(let members) = document
        else { return [] }
        let alone = members.filter { $0.name != "strings" } + [.init("strings", .object([.init(key, entry)]))]
        do {
            return Lint.findings(in: try Catalogue(.object(alone))).filter { !$0.path.hasPrefix("/languages") }.map(
                Finding.init)
        } catch let fault as LocalizationFault {
            return [Finding(fault)]
        } catch {
            return []
        }
    }
}
