public import Hummingbird
import MartletAPI

extension Request {
    /// Refuses parameters that would silently do nothing.
    ///
    /// - Throws: `invalid-parameter` naming the first that is not in `known`.
    public func allowParameters(_ known: Set<Substring> = []) throws {
        for parameter in uri.queryParameters where !known.contains(parameter.key) {
            throw HTTPProblem(.invalidParameter, "This query parameter is not known.", field: String(parameter.key))
        }
    }
}
