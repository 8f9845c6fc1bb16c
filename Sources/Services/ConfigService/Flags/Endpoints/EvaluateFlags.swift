import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletFlags
import MartletHTTP
import NIOCore

/// An instance that does not have the state named by `flagConfigEtag` yet reads the database before it evaluates.
struct EvaluateFlags: Endpoint {
    static let route = Route(
        .post, "/ofrep/v1/evaluate/flags", "ofrepEvaluateFlags", "Evaluates all flags for a context, by OFREP 0.3.0.",
        callers: .evaluators,
        parameters: [
            .header("If-None-Match"),
            .query(
                "flagConfigEtag", .string,
                "The `etag` of the change event that caused the request; the flags are at least as new."),
            .query("flagConfigLastModified", .string, "Accepted and ignored."),
        ],
        checksOwnQuery: true,
        details: """
            The protocol is specified in open-feature/protocol, service/openapi.yaml. Errors with status 400 have the \
            protocol's form instead of problem documents.
            """,
        body: .json(
            .object(
                [
                    "context": .object(
                        [
                            "targetingKey": .string
                        ], required: ["targetingKey"]
                    ).keyword("additionalProperties", true)
                ], required: ["context"])),
        answers: [
            .answer(
                200, "The evaluated flags, and in `eventStreams` the stream that announces changes.",
                .json(
                    .object(
                        [
                            "flags": .array(of: .evaluatedFlag),
                            "metadata": .object,
                            "eventStreams": .array(of: .object),
                        ], required: ["flags"]))),
            .answer(304, "The client's copy is current: `If-None-Match` names its `ETag`."),
        ],
        errors: [
            400: """
            The request is malformed. The body has `errorCode` (PARSE_ERROR, TARGETING_KEY_MISSING, INVALID_CONTEXT or \
            GENERAL) and `errorDetails`.
            """
        ])

    let live: LiveDocuments
    let experiments: Experiments
    let users: UserAttributes

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.principal
        let space = try context.space
        return try await OFREP.answering(key: nil) {
            let json = try await OFREP.context(of: request)
            if let wanted = request.uri.queryParameters["flagConfigEtag"] { try await catchUp(to: wanted, space) }
            let now = experiments.now()
            let current = try await live.current(space)
            let flagContext = await EvaluationContext(json, principal: principal, now: now).addingUserAttributes(
                users, current.needsOfFlags)
            let evaluation = await FlagEvaluation(in: current, for: flagContext, at: now, by: experiments)
            return try .evaluated(evaluation.tag, to: request) {
                let answers = evaluation.answers.map(\.ofrep)
                let metadata = evaluation.live.map { #""version":"\#($0.document.version)""# } ?? ""
                return #"{"flags":[\#(answers.joined(separator: ","))],"metadata":{\#(metadata)},"#
                    + #""eventStreams":[{"type":"sse","endpoint":{"requestUri":"\#(OFREP.eventsPath)"},"inactivityDelaySec":120}]}"#
            }
        }
    }

    private func catchUp(to tag: Substring, _ space: AppSpace) async throws {
        // Text that cannot be one of our tags must not cost a query.
        guard tag.utf8.count == 64, try await live.current(space).flagsTag != String(tag) else { return }
        await live.catchUp(space)
    }
}

/// Answers `{"version":n,"flags":{key:{"type","value","variant","reason"}},"experiments":{experiment:variation}}`.
/// `user`, with the user's roles, and `userId` come from the access token, whatever the context contains. Without
/// `targetingKey`, the user's id decides the buckets.
struct EvaluateForApp: Endpoint {
    static let route = Route(
        .post, "/flags/evaluate", "evaluateFlagsForApp",
        "Evaluates all flags for an app on a device and its signed-in user.", callers: .client,
        parameters: [
            .generation,
            .header("If-None-Match", .string, "The `ETag` of an earlier answer."),
        ],
        body: .json(
            .object(
                [
                    "context": .object(
                        [
                            "targetingKey": .string.described(
                                """
                                The id that decides percentage rollouts, such as the installation's; by default the \
                                user's id.
                                """
                            )
                        ]).keyword("additionalProperties", true).described(
                            """
                            The attributes that conditions test. `user` and `userId` always come from the access \
                            token.
                            """
                        )
                ])),
        answers: [
            .answer(
                200, "The flags by key. `version` is null if no flags are live.",
                .json(
                    .object(
                        [
                            "version": .integer.nullable,
                            "flags": .map(
                                of: .object(
                                    [
                                        "type": .oneOf("boolean", "number", "string", "json"),
                                        "value": .any,
                                        "variant": .string,
                                        "reason": .oneOf("STATIC", "TARGETING_MATCH", "SPLIT", "DISABLED", "UNKNOWN"),
                                    ], required: ["type", "value", "variant", "reason"])),
                        ], required: ["version", "flags"]))
            ).header("ETag"),
            .answer(304, "The client's copy is current: `If-None-Match` names its `ETag`."),
        ])

    let live: LiveDocuments
    let experiments: Experiments
    let users: UserAttributes

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.principal
        let fields = try await BodyFields(request, ["context"], upTo: OFREP.maximumBodyInBytes, isOptional: true)
        let json = fields["context"] ?? .object([])
        guard case .object = json else {
            throw ServiceError(.invalidBody, "Expected an object, found \(json.phrase).", field: "context")
        }
        let now = experiments.now()
        let space = try await live.current(try context.space, reaching: request.generation)
        let flagContext = await EvaluationContext(json, principal: principal, deviceID: try request.deviceID, now: now)
            .addingUserAttributes(users, space.needsOfFlags)
        let evaluation = await FlagEvaluation(in: space, for: flagContext, at: now, by: experiments)
        var response = try Response.evaluated(evaluation.tag, to: request) {
            let version = evaluation.live.map { String($0.document.version) } ?? "null"
            let members = evaluation.answers.map(\.member).joined(separator: ",")
            return #"{"version":\#(version),"flags":{\#(members)},"experiments":\#(evaluation.assignments.json.text)}"#
        }
        if !evaluation.assignments.isEmpty, let name = HTTPField.Name(HeaderName.experiments) {
            response.headers[name] = evaluation.assignments.header
        }
        return response
    }
}

extension Response {
    /// The answer that `body` makes, or 304 without calling `body` if the client has it already.
    static func evaluated(_ tag: EntityTag, to request: Request, _ body: () -> String) throws -> Response {
        // Clients of the protocol may send a tag without quotes; such a tag matches nothing.
        let known = request.headers[.ifNoneMatch].flatMap { try? EntityTag.list($0) } ?? []
        let headers: HTTPFields = [.eTag: tag.header, .cacheControl: "private, no-cache"]
        if known.contains(tag) { return Response(status: .notModified, headers: headers) }
        var response = Response.json(body())
        response.headers[.eTag] = headers[.eTag]
        response.headers[.cacheControl] = headers[.cacheControl]
        return response
    }
}
