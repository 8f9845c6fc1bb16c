import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletFlags
import MartletHTTP
import NIOCore

/// `POST /ofrep/v1/evaluate/flags` (OFREP): all flags for a context; 304 for who has them.
///
/// `flagConfigEtag` of the query is what a change event said: a copy that has not heard of it yet looks first.
struct EvaluateFlags: Endpoint {
    static let route = Route(
        .post, "/ofrep/v1/evaluate/flags", "ofrepEvaluateFlags", "OFREP 0.3.0: all flags for a context.",
        callers: .evaluators,
        parameters: [
            .header("If-None-Match"),
            .query("flagConfigEtag", .string, "`etag` of the event that the request follows."),
            .query("flagConfigLastModified", .string, "Not needed here."),
        ],
        checksOwnQuery: true,
        details: """
            Described by open-feature/protocol, service/openapi.yaml. Errors are the protocol's, not problem \
            documents.
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
                200, "Flags, and where changes are told.",
                .json(
                    .object(
                        [
                            "flags": .array(of: .evaluatedFlag),
                            "metadata": .object,
                            "eventStreams": .array(of: .object),
                        ], required: ["flags"]))),
            .answer(304, "The answers are those that the client has."),
        ],
        errors: [
            400: """
            `errorCode` PARSE_ERROR, TARGETING_KEY_MISSING, INVALID_CONTEXT or GENERAL, with `errorDetails`.
            """
        ])

    let live: LiveDocuments
    let experiments: Experiments
    let users: UserAttributes

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.evaluator
        let space = try context.space
        return try await OFREP.answering(key: nil) {
            let json = try await OFREP.context(of: request)
            if let wanted = request.uri.queryParameters["flagConfigEtag"] { try await catchUp(to: wanted, space) }
            let now = Date()
            let current = try await live.current(space)
            let asked = await EvaluationContext(json, principal: principal, now: now).knowing(
                users, current.needsOfFlags)
            let evaluation = await FlagEvaluation(in: current, for: asked, at: now, by: experiments)
            return try .evaluated(evaluation.tag, to: request) {
                let answers = evaluation.answers.map(\.ofrep)
                let metadata = evaluation.live.map { #""version":"\#($0.document.version)""# } ?? ""
                return #"{"flags":[\#(answers.joined(separator: ","))],"metadata":{\#(metadata)},"#
                    + #""eventStreams":[{"type":"sse","endpoint":{"requestUri":"\#(OFREP.eventsPath)"},"inactivityDelaySec":120}]}"#
            }
        }
    }

    private func catchUp(to tag: Substring, _ space: ConfigSpace) async throws {
        // Nothing that an event of ours ever said costs no query.
        guard tag.utf8.count == 64, try await live.current(space).flagsTag != String(tag) else { return }
        await live.catchUp(space)
    }
}

/// `POST /flags/evaluate` with `{"context":{…}}`: all flags by key, for the app on a device and who is signed in there;
/// 304 for who has them.
///
/// `{"version":n,"flags":{key:{"type","value","variant","reason"}},"experiments":{experiment:variation}}`; version is
/// null where none were published. `user`, with the roles of that user, and `userId` are the signed-in user's, whatever
/// the context says; without `targetingKey`, buckets go by the user.
struct EvaluateForApp: Endpoint {
    static let route = Route(
        .post, "/flags/evaluate", "evaluateFlagsForApp",
        "All flags, for the app on a device and who is signed in there.", callers: .client,
        parameters: [
            .header("If-None-Match", .string, "The ETag of an earlier answer.")
        ],
        body: .json(
            .object(
                [
                    "context": .object(
                        [
                            "targetingKey": .string.described(
                                "What shares of everybody go by: the installation's id. Default: the user's.")
                        ]).keyword("additionalProperties", true).described(
                            "What conditions look at. `user` and `userId` are the signed-in user's, whatever is sent.")
                ])),
        answers: [
            .answer(
                200, "Each flag by its key. `version` is null where none were published.",
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
            .answer(304, "The answers are those that the client has."),
        ])

    let live: LiveDocuments
    let experiments: Experiments
    let users: UserAttributes

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.principal
        let fields = try await BodyFields(request, ["context"], upTo: OFREP.maximumBodyInBytes, isOptional: true)
        let json = fields["context"] ?? .object([])
        guard case .object = json else { throw HTTPProblem(.invalidBody, "This must be an object.", field: "context") }
        let now = Date()
        let space = try await live.current(try context.space)
        let asked = await EvaluationContext(json, principal: principal, deviceID: try request.deviceID, now: now)
            .knowing(users, space.needsOfFlags)
        let evaluation = await FlagEvaluation(in: space, for: asked, at: now, by: experiments)
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
    /// What `body` makes, or 304 for who has it, without making it.
    fileprivate static func evaluated(_ tag: EntityTag, to request: Request, _ body: () -> String) throws -> Response {
        // Clients of the protocol may send a tag without its quotes: no tag of ours, then.
        let known = request.headers[.ifNoneMatch].flatMap { try? EntityTag.list($0) } ?? []
        let headers: HTTPFields = [.eTag: tag.header, .cacheControl: "private, no-cache"]
        if known.contains(tag) { return Response(status: .notModified, headers: headers) }
        var response = Response.json(body())
        response.headers[.eTag] = headers[.eTag]
        response.headers[.cacheControl] = headers[.cacheControl]
        return response
    }
}
