public import Hummingbird
import MartletAPI
import MartletCore

/// `?after=<number>&wait=<seconds, 0…30>`: the position of one of our processes in a feed, and how long it waits for
/// new entries.
public struct FeedQuery {
    public let after: Int64
    public let wait: Duration

    /// - Parameter after: The position used if the query has none.
    /// - Throws: `invalid-parameter`.
    public init(_ request: Request, default after: Int64) throws {
        let parameters = request.uri.queryParameters
        guard let after = parameters["after"].map({ Int64($0) }) ?? after else {
            throw ServiceError.unexpectedParameter(
                "after", expected: "a whole number", found: parameters["after"] ?? "")
        }
        let seconds = parameters["wait"] ?? "0"
        guard let wait = Int(seconds), (0...30).contains(wait) else {
            throw ServiceError.unexpectedParameter(
                "wait", expected: "a whole number from 0 to 30", found: seconds)
        }
        self.after = after
        self.wait = .seconds(wait)
    }
}
