import Foundation
import Hummingbird
import MartletAPI
import MartletFlags
import MartletHTTP

/// `POST /ofrep/v1/evaluate/flags/{key}` (OFREP): one flag for a context.
struct EvaluateFlag: Endpoint {
    let live: LiveDocuments
    let experiments: Experiments
    let users: UserAttributes

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.evaluator
        let key = (context.parameters.get("key") ?? "").removingPercentEncoding ?? ""
        return try await OFREP.answering(key: key) {
            let json = try await OFREP.context(of: request)
            let now = Date()
            let space = try await live.current(try context.space)
            let asked = await EvaluationContext(json, principal: principal, now: now).knowing(users, space.needsOfFlags)
            let evaluation = await FlagEvaluation(of: key, in: space, for: asked, at: now, by: experiments)
            guard let answer = evaluation.answer(key) else {
                throw OFREP.Failure(.flagNotFound, "There is no flag with this key.")
            }
            return .json(answer.ofrep)
        }
    }
}
