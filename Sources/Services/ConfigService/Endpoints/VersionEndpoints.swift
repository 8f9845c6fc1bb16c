import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /config/{kind}/{name}/versions?before=&limit=`: from the newest down, without contents.
struct ListVersions: Endpoint {
    let versions: VersionStore
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, _) = try context.managed(kinds, may: .read)
        try request.allowParameters(["before", "limit"])
        let limit = try request.number("limit", default: 100, in: 1...1_000)
        let before = try request.number("before", default: Int(Int32.max), in: 1...Int(Int32.max))
        let list = try await versions.list(key, in: try context.space, before: before, limit: limit + 1)
        let page = list.prefix(limit)
        return .page(page.map(\.json), next: list.count > limit ? page.last.map { String($0.version) } : nil)
    }
}

/// `GET /config/{kind}/{name}/versions/{version}`: the version, with its `content`.
struct ReadVersion: Endpoint {
    let versions: VersionStore
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, _) = try context.managed(kinds, may: .read)
        guard let version = context.parameters.get("version").flatMap({ Int($0) }),
            let (json, content) = try await versions.read(version, of: key, in: try context.space)
        else { throw HTTPProblem(.versionNotFound) }
        return .json(json.dropLast() + ",\"content\":" + content + "}")
    }
}

/// `GET /config/{kind}/{name}/diff?from=&to=`: what changes one version into another (JSON Patch, RFC 6902), each a
/// version's number, `live` or `draft`. From what is live to the draft, if nothing is said.
struct CompareVersions: Endpoint {
    let versions: VersionStore
    let documents: DocumentStore
    let kinds: Kinds

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (key, _) = try context.managed(kinds, may: .read)
        try request.allowParameters(["from", "to"])
        let space = try context.space
        guard let document = try await documents.read(key, in: space) else { throw HTTPProblem(.documentNotFound) }
        let old = try await content("from", default: "live", request, document, key, space)
        let new = try await content("to", default: "draft", request, document, key, space)
        return .json(#"{"patch":\#(JSONPatch(from: old, to: new).json.text)}"#)
    }

    private func content(
        _ name: Substring, default standard: String, _ request: Request, _ document: DocumentStore.Document,
        _ key: DocumentKey, _ space: ConfigSpace
    ) async throws -> JSONValue {
        let wanted = request.uri.queryParameters[name].map(String.init) ?? standard
        if wanted == "draft" { return try JSONValue(parsing: (document.draft ?? "{}").utf8) }
        guard let version = wanted == "live" ? document.liveVersion : Int(wanted),
            let (_, content) = try await versions.read(version, of: key, in: space)
        else { throw HTTPProblem(.versionNotFound, "There is no such version.", field: String(name)) }
        return try JSONValue(parsing: content.utf8)
    }
}
