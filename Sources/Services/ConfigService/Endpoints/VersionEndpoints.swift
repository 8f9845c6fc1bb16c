import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ListVersions: Endpoint {
    static let route = Route(
        .get, "/config/{kind}/{name}/versions", "listConfigVersions",
        "Lists the versions of a document, newest first, without their contents.", callers: .documentManagers(.read),
        parameters: [
            .documentKind,
            .documentName,
            .query("before", .integer, "`next` from the previous page: only versions below this number."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        answers: [
            .answer(200, "A page of versions: `count`, `data`, and `next` if there are more.", .json(.object))
        ])

    let versions: VersionStore
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, _) = try context.managed(kinds, may: .read)
        let limit = try context.integer("limit")
        let before = try request.number("before", default: Int(Int32.max), in: 1...Int(Int32.max))
        let list = try await versions.list(key, in: try context.space, before: before, limit: limit + 1)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last.map { String($0.version) } : nil)
    }
}

struct ReadVersion: Endpoint {
    static let route = Route(
        .get, "/config/{kind}/{name}/versions/{version}", "readConfigVersion",
        "Returns a version of a document with its content.",
        callers: .documentManagers(.read),
        parameters: [
            .documentKind,
            .documentName,
            .path("version", .integer),
        ],
        answers: [
            .answer(200, "The version with its `content`.", .json(.configVersion))
        ],
        errors: [404: "The document has no such version (`version-not-found`)."])

    let versions: VersionStore
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, _) = try context.managed(kinds, may: .read)
        guard let version = context.parameters.get("version").flatMap({ Int($0) }),
            let (json, content) = try await versions.read(version, of: key, in: try context.space)
        else { throw ServiceError(.versionNotFound) }
        return .json(json.dropLast() + ",\"content\":" + content + "}")
    }
}

struct CompareVersions: Endpoint {
    static let route = Route(
        .get, "/config/{kind}/{name}/diff", "compareVersions",
        "Compares two versions of a document.", callers: .documentManagers(.read),
        parameters: [
            .documentKind,
            .documentName,
            .query("from", .string, "A version's number, `live` or `draft`; by default `live`."),
            .query("to", .string, "A version's number, `live` or `draft`; by default `draft`."),
        ],
        answers: [
            .answer(
                200, "`patch`: the operations that turn `from` into `to` (JSON Patch, RFC 6902).",
                .json(
                    .object(
                        [
                            "patch": .array(of: .object)
                        ])))
        ],
        errors: [404: "There is no such document or version (`document-not-found`, `version-not-found`)."])

    let versions: VersionStore
    let documents: DocumentStore
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, _) = try context.managed(kinds, may: .read)
        let space = try context.space
        guard let document = try await documents.read(key, in: space) else { throw ServiceError(.documentNotFound) }
        let old = try await content("from", default: "live", request, document, key, space)
        let new = try await content("to", default: "draft", request, document, key, space)
        return .json(#"{"patch":\#(JSONPatch(from: old, to: new).json.text)}"#)
    }

    private func content(
        _ name: Substring, default standard: String, _ request: Request, _ document: DocumentStore.Document,
        _ key: DocumentKey, _ space: AppSpace
    ) async throws -> JSONValue {
        let wanted = request.uri.queryParameters[name].map(String.init) ?? standard
        if wanted == "draft" { return try JSONValue(parsing: (document.draft ?? "{}").utf8) }
        guard let version = wanted == "live" ? document.liveVersion : Int(wanted),
            let (_, content) = try await versions.read(version, of: key, in: space)
        else { throw ServiceError(.versionNotFound, "There is no such version.", field: String(name)) }
        return try JSONValue(parsing: content.utf8)
    }
}
