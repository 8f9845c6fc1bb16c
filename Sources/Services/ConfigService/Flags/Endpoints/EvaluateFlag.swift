import Foundation
import Hummingbird
import MartletAPI
import MartletFlags
import MartletHTTP

struct EvaluateFlag: Endpoint {
    static let route = Route(
        .post, "/ofrep/v1/evaluate/flags/{key}", "ofrepEvaluateFlag",
        "Evaluates one flag for a context, by OFREP 0.3.0.",
        callers: .evaluators,
        checksOwnQuery: true,
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
            .answer(200, "The evaluated flag.", .json(.evaluatedFlag))
        ],
        errors: [
            400: """
            The request is malformed. The body has `key`, `errorCode` (PARSE_ERROR, TARGETING_KEY_MISSING, \
            INVALID_CONTEXT or GENERAL) and `errorDetails`.
            """, 404: "There is no such flag. The body has `key`, `errorCode` FLAG_NOT_FOUND and `errorDetails`.",
        ])

    let live: LiveDocuments
    let experiments: Experiments
    let users: UserAttributes

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.principal
        let key = context.component("key")
        return try await OFREP.answering(key: key) {
            let json = try await OFREP.context(of: request)
            let now = experiments.now()
            let space = try await live.current(try context.space)
            let flagContext = await EvaluationContext(json, principal: principal, now: now).addingUserAttributes(
                users, space.needsOfFlags)
            let evaluation = await FlagEvaluation(of: key, in: space, for: flagContext, at: now, by: experiments)
            guard let answer = evaluation.answer(key) else {
                throw OFREP.Failure(.flagNotFound, "There is no flag with this key.")
            }
            return .json(answer.ofrep)
        }
    }
}
