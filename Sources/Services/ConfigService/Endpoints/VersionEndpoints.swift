import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /config/{kind}/{name}/versions?before=&limit=`: from the newest down, without contents.
struct ListVersions: Endpoint {
    static let route = Route(
        .get, "/config/{kind}/{name}/versions", "listConfigVersions",
        "Versions from the newest down, without their contents.", callers: .documentManagers(.read),
        parameters: [
            .path("kind", .oneOf("configuration", "flags", "experiment", "translation", "definition")),
            .path(
                "name", .string,
                """
                1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first; or two of them with `~` between.
                """),
            .query("before", .integer, "The version in front of which the page ends."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        answers: [
            .answer(200, "Done.", .json(.object))
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

/// `GET /config/{kind}/{name}/versions/{version}`: the version, with its `content`.
struct ReadVersion: Endpoint {
    static let route = Route(
        .get, "/config/{kind}/{name}/versions/{version}", "readConfigVersion", "A version with its content.",
        callers: .documentManagers(.read),
        parameters: [
            .path("kind", .oneOf("configuration", "flags", "experiment", "translation", "definition")),
            .path(
                "name", .string,
                """
                1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first; or two of them with `~` between.
                """),
            .path("version", .integer),
        ],
        answers: [
            .answer(200, "Done.", .json(.configVersion))
        ],
        errors: [404: "There is no such document or version (`document-not-found`, `version-not-found`)."])

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
    static let route = Route(
        .get, "/config/{kind}/{name}/diff", "compareVersions",
        "What changes one version into another (JSON Patch, RFC 6902).", callers: .documentManagers(.read),
        parameters: [
            .path("kind", .oneOf("configuration", "flags", "experiment", "translation", "definition")),
            .path(
                "name", .string,
                """
                1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first; or two of them with `~` between.
                """),
            .query("from", .string, "A version, live or draft; live if nothing is said."),
            .query("to", .string, "The same; draft if nothing is said."),
        ],
        answers: [
            .answer(
                200, "Done.",
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
