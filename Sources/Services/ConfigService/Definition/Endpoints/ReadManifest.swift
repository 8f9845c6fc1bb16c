import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletFlags
import MartletHTTP
import MartletLogic

/// With `preview`, answers for the draft instead of the live version. Clients with equal capabilities share one answer
/// for a whole day (UTC).
struct ReadManifest: Endpoint {
    static let route = Route(
        .get, "/definitions/{name}/manifest", "readManifest",
        """
        Returns the signed manifest of an app definition: its parts and what they require of the client.
        """, callers: .client,
        parameters: [
            .definitionName,
            .query("client", .string, "The version of the host app."),
            .query(
                "capabilities", .string,
                """
                The kinds and operations that the host app supports, with their versions, such as \
                `RoundImageView:1,ChartView:2`; at most 200.
                """),
            .query("unit", .string, "The device's own id, 1 to 128 bytes, which decides staged rollouts."),
            .query(
                "preview", .string,
                "The token of a preview, from `POST …/config/definition/{name}/preview`; selects the draft."),
            .generation,
            .header("If-None-Match", .string, "The `ETag` of an earlier answer."),
        ],
        answers: [
            .answer(
                200,
                """
                The manifest and its signature. `compatible`, `missing` and `fallbacks` are present if the client sent \
                `client` or `capabilities`.
                """,
                .json(
                    .object(
                        [
                            "manifest": .object(
                                [
                                    "schema": .integer.keyword("enum", [1]),
                                    "name": .string,
                                    "environment": .oneOf("live", "test", "live-preview", "test-preview").described(
                                        """
                                        Ends in `-preview` for a draft, so that no client takes a draft for a \
                                        published version.
                                        """
                                    ),
                                    "version": .integer.described("The live version's number, which never decreases."),
                                    "content": .integer.described(
                                        "The version that the parts belong to; it can be older than `version`."),
                                    "published": .time,
                                    "expires": .time.described(
                                        """
                                        When the manifest expires: 7 days after the end of the day (UTC) of the \
                                        answer.
                                        """
                                    ),
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
                            "signature": .string.described(
                                "The Ed25519 signature of the manifest in canonical JSON (RFC 8785), as base64url."),
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
            .answer(304, "The client's copy is current: `If-None-Match` names its `ETag`."),
        ],
        errors: [
            404: """
            No definition with this name is live, or the preview has expired or was revoked \
            (`document-not-found`).
            """, 422: "The previewed draft has errors: see `findings` (`document-refused`).",
        ])

    let live: LiveDocuments
    let choice: DefinitionChoice
    let manifests: DefinitionManifests
    let previews: DefinitionPreviews
    let users: UserAttributes

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await live.current(try context.space, reaching: request.generation)
        let capabilities = try ClientCapabilities(request)
        if let token = request.uri.queryParameters["preview"] {
            return try await preview(by: token, capabilities, to: request, context)
        }
        let document = try context.definition(in: space)
        let isStaged = (document.compiled as? CompiledDefinition)?.rollout != nil
        let unit = await EvaluationContext(
            try Self.unit(request, capabilities), principal: try context.principal, now: previews.now()
        )
        .addingUserAttributes(users, isStaged ? space.needsOfRules : .init())
        let edition = try await choice.edition(of: document, for: unit.subject, with: capabilities, in: space)
        let answer = try await manifests.answer(
            of: edition, under: .init(document, in: space.space), adding: Self.compatibility(edition, capabilities))
        return try .stored(answer, to: request, headers: [.vary: "Authorization"])
    }

    private func preview(
        by token: Substring, _ capabilities: ClientCapabilities, to request: Request, _ context: ServiceContext
    ) async throws -> Response {
        let (name, space) = (context.parameters.get("name") ?? "", try context.space)
        let draft = try await previews.draft(of: name, in: space, by: token)
        let edition = DefinitionEdition(version: draft.version, definition: draft.definition)
        let answer = try await manifests.answer(
            of: edition, under: .init(draft, of: name, in: space), adding: Self.compatibility(edition, capabilities))
        return try .stored(answer, to: request, headers: [.cacheControl: "no-store"])
    }

    /// The attributes that flags can test: the device's own id and the host app's version.
    private static func unit(_ request: Request, _ capabilities: ClientCapabilities) throws -> JSONValue {
        var members: [JSONValue.Member] = []
        if let unit = request.uri.queryParameters["unit"] {
            guard (1...128).contains(unit.utf8.count) else {
                throw ServiceError(.invalidParameter, "Expected 1 to 128 bytes.", field: "unit")
            }
            members.append(.init("targetingKey", .string(String(unit))))
        }
        if let client = capabilities.client { members.append(.init("appVersion", .string(client.text))) }
        return .object(members)
    }

    /// The members after manifest and signature, for a client that sends its capabilities.
    private static func compatibility(_ edition: DefinitionEdition, _ capabilities: ClientCapabilities) -> String {
        guard capabilities.areDeclared else { return "" }
        let missing = capabilities.missing(for: edition.definition)
        let fallbacks = capabilities.fallbacks(in: edition.definition).map { option in
            #"{"kind":\#(CanonicalText.quote(option.kind)),"path":\#(CanonicalText.quote(option.path)),"version":\#(option.version)}"#
        }
        let names = missing.map(CanonicalText.quote).joined(separator: ",")
        return
            #","compatible":\#(missing.isEmpty),"missing":[\#(names)],"fallbacks":[\#(fallbacks.joined(separator: ","))]"#
    }
}
