import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletLocalization

/// `GET /config/translation/{version}/keys?missing=&language=&state=&search=&after=&limit=&version=`: the keys in the
/// order of their names, each with its entry and its state in every language.
///
/// `missing=de` is short for `language=de&state=new`: keys that readers of German would get in another language. A
/// `state` without a language is one that any language has. `search` looks into keys, comments and texts.
struct ListKeys: Endpoint {
    static let route = Route(
        .get, "/config/{kind}/{name}/keys", "listTranslationKeys", "Keys by name, with their entries and states.",
        callers: .documentManagers(.read),
        parameters: [
            .path("kind", .oneOf("translation")),
            .path("name", .string, "The app version."),
            .query("missing", .string, "Keys that this language has no usable text for."),
            .query("language", .string, "Whose state and texts are meant."),
            .query("state", .string, "`new`, `translated` or `needs_review`."),
            .query("search", .string, "In keys, comments and texts."),
            .query("after", .string, "The key behind which the page begins."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
            .query("version", .string, "`draft` (if nothing is said), `live` or a version."),
        ],
        answers: [
            .answer(200, "Done.", .json(.object))
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
        let limit = try context.integer("limit")
        let filter = try KeyFilter(request)
        let catalogue = try await documents.catalogue(key, in: try context.space, request, versions)
        let after = request.uri.queryParameters["after"].map(String.init)
        let found = catalogue.entries.filter { $0.key > after ?? "" && filter.takes($0, of: catalogue) }.sorted {
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
            throw HTTPProblem(
                .invalidParameter, "It stands for language and state: send it without them.", field: "missing")
        }
        language = try missing ?? request.language("language")
        state = missing == nil ? try request.choice("state", MartletLocalization.Unit.State.self) : .new
        search = request.uri.queryParameters["search"].map { $0.lowercased() }
    }

    func takes(_ entry: Entry, of catalogue: Catalogue) -> Bool {
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

/// `PUT /config/translation/{version}/keys/{key}` with the key's entry as in the document, `PATCH` with a merge patch
/// of it (RFC 7396), and `DELETE`; with `If-Match` and the draft's revision. A key that a path cannot hold stands in
/// the query: `…/keys?key=a/b`.
///
/// Answers the new revision and what is wrong or doubtful with the key.
struct EditKey: Endpoint {
    static let route = Route(
        .put, "/config/{kind}/{name}/keys", "putTranslationKeyByQuery", "Replaces a key that a path cannot hold.",
        callers: .documentManagers(.create, .update),
        parameters: [
            .path("kind", .oneOf("translation")),
            .path("name", .string, "The app version."),
            .query("key", isRequired: true),
            .header("If-Match", .string, "The ETag of the draft, or *.", isRequired: true),
        ],
        body: .json(.translationEntry),
        answers: [
            .answer(
                200, "The new revision, and what is wrong or doubtful with the key.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .finding),
                        ])))
        ],
        errors: [
            404: """
            There is no such document, language, version or key (`document-not-found`, `version-not-found`).
            """, 412: "The draft has another revision.", 428: "If-Match is missing.",
        ])
    static let patchTranslationKeyByQuery = route.by(
        .patch, "patchTranslationKeyByQuery", "Patches (RFC 7396) a key that a path cannot hold.")
    static let deleteTranslationKeyByQuery = Route(
        .delete, "/config/{kind}/{name}/keys", "deleteTranslationKeyByQuery", "Deletes a key that a path cannot hold.",
        callers: .documentManagers(.create, .update),
        parameters: [
            .path("kind", .oneOf("translation")),
            .path("name", .string, "The app version."),
            .query("key", isRequired: true),
            .header("If-Match", .string, "The ETag of the draft, or *.", isRequired: true),
        ],
        answers: [
            .answer(
                200, "The new revision, and what is wrong or doubtful with the key.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .finding),
                        ])))
        ],
        errors: [
            404: """
            There is no such document, language, version or key (`document-not-found`, `version-not-found`).
            """, 412: "The draft has another revision.", 428: "If-Match is missing.",
        ])
    static let putTranslationKey = Route(
        .put, "/config/{kind}/{name}/keys/{key}", "putTranslationKey", "Replaces one key of the draft.",
        callers: .documentManagers(.create, .update),
        parameters: [
            .path("kind", .oneOf("translation")),
            .path("name", .string, "The app version."),
            .header("If-Match", .string, "The ETag of the draft, or *.", isRequired: true),
        ],
        body: .json(.translationEntry),
        answers: [
            .answer(
                200, "The new revision, and what is wrong or doubtful with the key.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .finding),
                        ])))
        ],
        errors: [
            404: """
            There is no such document, language, version or key (`document-not-found`, `version-not-found`).
            """, 412: "The draft has another revision.", 428: "If-Match is missing.",
        ])
    static let patchTranslationKey = Route(
        .patch, "/config/{kind}/{name}/keys/{key}", "patchTranslationKey", "Patches (RFC 7396) one key of the draft.",
        callers: .documentManagers(.create, .update),
        parameters: [
            .path("kind", .oneOf("translation")),
            .path("name", .string, "The app version."),
            .header("If-Match", .string, "The ETag of the draft, or *.", isRequired: true),
        ],
        body: .json(.translationEntry),
        answers: [
            .answer(
                200, "The new revision, and what is wrong or doubtful with the key.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .finding),
                        ])))
        ],
        errors: [
            404: """
            There is no such document, language, version or key (`document-not-found`, `version-not-found`).
            """, 412: "The draft has another revision.", 428: "If-Match is missing.",
        ])
    static let deleteTranslationKey = Route(
        .delete, "/config/{kind}/{name}/keys/{key}", "deleteTranslationKey", "Deletes one key of the draft.",
        callers: .documentManagers(.create, .update),
        parameters: [
            .path("kind", .oneOf("translation")),
            .path("name", .string, "The app version."),
            .header("If-Match", .string, "The ETag of the draft, or *.", isRequired: true),
        ],
        answers: [
            .answer(
                200, "The new revision, and what is wrong or doubtful with the key.",
                .json(
                    .object(
                        [
                            "revision": .integer,
                            "findings": .array(of: .finding),
                        ])))
        ],
        errors: [
            404: """
            There is no such document, language, version or key (`document-not-found`, `version-not-found`).
            """, 412: "The draft has another revision.", 428: "If-Match is missing.",
        ])

    enum Act {
        case put, patch, delete
    }

    let documents: DocumentStore
    let kinds: Kinds
    let act: Act

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let document = try context.translationKey(kinds)
        let author = try context.author(may: .update, document.kind.area)
        guard
            let key = context.parameters.get("key")
                ?? request.uri.queryParameters["key"].map(String.init), !key.isEmpty
        else {
            throw HTTPProblem(.invalidParameter, "This is required.", field: "key")
        }
        let condition = try DraftCondition(request)
        guard !condition.isForNew else {
            throw HTTPProblem(
                .invalidParameter, "Keys are edited in a draft that is there: send If-Match.", field: "If-None-Match")
        }
        let body = act == .delete ? .object([]) : try await request.document(upTo: 1 << 20)
        let space = try context.space
        let edited = try await documents.edit(document, in: space, if: condition, by: author, maximumDocuments: 0) {
            [act] draft in
            try Self.edited(draft ?? "{}", key, act, body)
        }
        let findings = act == .delete ? [] : Self.findings(edited.draft, key)
        return .edited(edited, findings)
    }

    /// The rest of the draft stays as it is, even where it is no catalogue.
    private static func edited(_ draft: String, _ key: String, _ act: Act, _ body: JSONValue) throws -> String {
        let document = try JSONValue(parsing: draft.utf8)
        guard case .object(var members) = document, case .object(var strings)? = document["strings"] ?? .object([])
        else {
            throw HTTPProblem(.documentRefused, "The draft is no catalogue: correct it first.")
        }
        let place = strings.firstIndex { $0.name == key }
        if act == .delete {
            guard let place else { throw HTTPProblem(.documentNotFound, "There is no such key.") }
            strings.remove(at: place)
        } else {
            let entry = act == .put ? body : (place.map { strings[$0].value } ?? .object([])).merging(body)
            do {
                _ = try Entry(key, entry, at: "")
            } catch let fault as LocalizationFault {
                throw HTTPProblem(.invalidBody, fault.reason, field: fault.place.isEmpty ? "key" : fault.place)
            }
            if let place { strings[place] = .init(key, entry) } else { strings.append(.init(key, entry)) }
            guard strings.count <= LocalizationLimits.keys else {
                throw HTTPProblem(.limitExceeded, "There may be at most \(LocalizationLimits.keys) keys.")
            }
        }
        if let index = members.firstIndex(where: { $0.name == "strings" }) {
            members[index] = .init("strings", .object(strings))
        } else {
            members.append(.init("strings", .object(strings)))
        }
        return try JSONValue.object(members).draft(upTo: LocalizationLimits.documentSizeInBytes)
    }

    /// Of one key, as if it were alone.
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
