import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP

/// `POST /ofrep/v1/evaluate/flags/{key}` (OFREP): one flag for a context.
struct EvaluateFlag: Endpoint {
    let live: LiveDocuments

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.evaluator
        let key = (context.parameters.get("key") ?? "").removingPercentEncoding ?? ""
        return try await OFREP.answering(key: key) {
            let json = try await OFREP.context(of: request)
            let evaluation = EvaluationContext(json, principal: principal, now: Date())
            guard let answer = try await live.current(try context.space).flags?.flags.evaluate(key, for: evaluation.subject) else {
                throw OFREP.Failure(.flagNotFound, "There is no flag with this key.")
            }
            return .json(answer.ofrep)
        }
    }
}
