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
    let documents: DocumentStore
    let versions: VersionStore
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let key = try context.translationKey(kinds)
        _ = try context.author(may: .read, key.kind.area)
        try request.allowParameters(["missing", "language", "state", "search", "after", "limit", "version"])
        let limit = try request.number("limit", default: 100, in: 1...1_000)
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
    enum Act {
        case put, patch, delete
    }

    let documents: DocumentStore
    let kinds: Kinds
    let act: Act

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let document = try context.translationKey(kinds)
        let author = try context.author(may: .update, document.kind.area)
        try request.allowParameters(["key"])
        guard
            let key = context.parameters.get("key").map({ $0.removingPercentEncoding ?? $0 })
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
