public import HTTPTypes
public import Hummingbird
public import MartletCore
public import NIOCore

/// An endpoint that answers its most frequent requests on the event loop of their connection.
///
/// These only read, with a single statement, for a client or an app's server. Without a task, middleware and streams,
/// they take about half of the CPU time. `respond` answers all others, and most requests that end in an error, so it
/// must be safe to call after an attempt.
public protocol DirectEndpoint: Endpoint {
    /// Starts to answer a request, whose query is as the route declares it. Must not block.
    ///
    /// - Parameter completion: Called once, on any thread, unless the function returns false. Nil leaves the request to
    ///   `respond`. An error is answered at once: use it where `respond` would only find the same error again.
    /// - Returns: Whether it was started. If not, `respond` answers.
    func start(
        _ request: DirectRequest, completion: @escaping @Sendable (Result<DirectAnswer?, any Error>) -> Void
    ) -> Bool
}

/// A request with its whole body.
public struct DirectRequest: Sendable {
    /// Without the body.
    public let request: Request
    public let body: ByteBuffer
    public let principal: Principal
    /// The path's parameters, in order. None is percent-encoded.
    public let parameters: [String]
    public let usage = RequestUsage()
}

/// A complete answer in memory.
public struct DirectAnswer: Sendable {
    public var status: HTTPResponse.Status
    public var headers: HTTPFields
    public var body: ByteBuffer

    public init(status: HTTPResponse.Status = .ok, headers: HTTPFields, body: ByteBuffer = ByteBuffer()) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

extension Response {
    public init(_ answer: DirectAnswer) {
        self.init(status: answer.status, headers: answer.headers, body: .whole(answer.body))
    }
}
