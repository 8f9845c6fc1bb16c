import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletFlags
import MartletHTTP
import MartletLogic

/// `GET /definitions/{name}/manifest?client=&capabilities=&unit=&preview=`: what the app consists of, signed; of its
/// draft, for who was given a preview.
///
/// `{"manifest":{…},"signature":"…"}`, and for a client that says what it can show `compatible`, `missing` and
/// `fallbacks`. With an `ETag`.
struct ReadManifest: Endpoint {
    static let route = Route(
        .get, "/definitions/{name}/manifest", "readManifest",
        """
        What an app that is described on the server consists of, signed (Ed25519 over canonical JSON, RFC \
        8785).
        """, callers: .client,
        parameters: [
            .path("name", .string, "1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first."),
            .query("client", .string, "The host app's version."),
            .query(
                "capabilities", .string,
                """
                Kinds and operations of the host app with their versions: `RoundImageView:1,ChartView:2`; at most \
                200.
                """),
            .query("unit", .string, "The device's own id, 1 to 128 bytes, by which flags know it again."),
            .query("preview", .string, "From `POST …/config/definition/{name}/preview`: the draft."),
            .header("If-None-Match", .string, "Entity tags."),
        ],
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "manifest": .object(
                                [
                                    "schema": .integer.keyword("enum", [1]),
                                    "name": .string,
                                    "environment": .oneOf("live", "test", "live-preview", "test-preview").described(
                                        "Previews of drafts are of none that clients take for theirs."),
                                    "version": .integer.described("Only ever grows."),
                                    "content": .integer.described("Whose content it is."),
                                    "published": .time,
                                    "expires": .time.described(
                                        "Until when it may be taken: 7 days after the day (UTC) of the answer."),
                                    "minClient": .string,
                                    "requires": .map(of: .integer),
                                    "parts": .array(
                                        of: .object(
                                            [
                                                "path": .string,
                                                "sha256": .string,
                                                "size": .integer,
                                            ])),
                                    "keyId": .string,
                                ],
                                required: [
                                    "schema", "name", "environment", "version", "content", "published", "expires",
                                    "requires", "parts", "keyId",
                                ]),
                            "signature": .string.described("base64url"),
                            "compatible": .boolean,
                            "missing": .array(of: .string),
                            "fallbacks": .array(
                                of: .object(
                                    [
                                        "kind": .string,
                                        "version": .integer,
                                        "path": .string,
                                    ])),
                        ], required: ["manifest", "signature"]))),
            .answer(304, "Not modified."),
        ],
        errors: [
            404: """
            No definition of this name is live, or the preview's time is over, or it was revoked \
            (`document-not-found`).
            """, 422: "The draft that is previewed has errors: see `findings` (`document-refused`).",
        ])

    let live: LiveDocuments
    let choice: DefinitionChoice
    let manifests: DefinitionManifests
    let previews: DefinitionPreviews
    let users: UserAttributes

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await live.current(try context.space)
        let capabilities = try ClientCapabilities(request)
        if let token = request.uri.queryParameters["preview"] {
            return try await preview(by: token, capabilities, to: request, context)
        }
        let document = try context.definition(in: space)
        let isStaged = (document.compiled as? CompiledDefinition)?.rollout != nil
        let unit = await EvaluationContext(
            try Self.unit(request, capabilities), principal: try context.principal, now: Date()
        )
        .knowing(users, isStaged ? space.needsOfRules : .init())
        let edition = try await choice.edition(of: document, for: unit.subject, with: capabilities, in: space)
        let answer = try await manifests.answer(
            of: edition, under: .init(document, in: space.space), saying: Self.compatibility(edition, capabilities))
        return try .stored(answer, to: request, headers: [.vary: "Authorization"])
    }

    private func preview(
        by token: Substring, _ capabilities: ClientCapabilities, to request: Request, _ context: ServiceContext
    ) async throws -> Response {
        let (name, space) = (context.parameters.get("name") ?? "", try context.space)
        let draft = try await previews.draft(of: name, in: space, by: token)
        let edition = DefinitionEdition(version: draft.version, definition: draft.definition)
        let answer = try await manifests.answer(
            of: edition, under: .init(draft, of: name, in: space), saying: Self.compatibility(edition, capabilities))
        return try .stored(answer, to: request, headers: [.cacheControl: "no-store"])
    }

    /// What flags know of the client: the id of its own that the device sends, and the host app's version.
    private static func unit(_ request: Request, _ capabilities: ClientCapabilities) throws -> JSONValue {
        var members: [JSONValue.Member] = []
        if let unit = request.uri.queryParameters["unit"] {
            guard (1...128).contains(unit.utf8.count) else {
                throw HTTPProblem(.invalidParameter, "This must be 1 to 128 bytes.", field: "unit")
            }
            members.append(.init("targetingKey", .string(String(unit))))
        }
        if let client = capabilities.client { members.append(.init("appVersion", .string(client.text))) }
        return .object(members)
    }

    /// What stands behind manifest and signature for a client that says what it can show.
    private static func compatibility(_ edition: DefinitionEdition, _ capabilities: ClientCapabilities) -> String {
        guard capabilities.areSaid else { return "" }
        let missing = capabilities.missing(for: edition.definition)
        let fallbacks = capabilities.fallbacks(in: edition.definition).map { option in
            #"{"kind":\#(CanonicalText.quote(option.kind)),"path":\#(CanonicalText.quote(option.path)),"version":\#(option.version)}"#
        }
        let names = missing.map(CanonicalText.quote).joined(separator: ",")
        return
            #","compatible":\#(missing.isEmpty),"missing":[\#(names)],"fallbacks":[\#(fallbacks.joined(separator: ","))]"#
    }
}
