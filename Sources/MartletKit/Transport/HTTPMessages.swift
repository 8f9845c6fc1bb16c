public import Foundation

/// Names and values of headers. Names are compared without regard to case.
public struct HTTPHeaders: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    private var values: [String: String] = [:]

    public init() {}

    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { self[name] = value }
    }

    public subscript(name: String) -> String? {
        get { values[name.lowercased()] }
        set { values[name.lowercased()] = newValue }
    }

    public var all: [(name: String, value: String)] { values.map { ($0.key, $0.value) } }
}

/// A request as an ``HTTPTransport`` sends it.
public struct HTTPRequest: Sendable {
    /// When a transport aborts a request.
    public enum Timeout: Sendable, Hashable {
        /// After this many seconds, whatever has arrived.
        case total(TimeInterval)
        /// When nothing has arrived for this many seconds.
        case idle(TimeInterval)
    }

    /// 64 MiB; the largest page has 16 MiB.
    public static let largestAnswer = 64 << 20

    public var method: String
    public var url: URL
    public var headers: HTTPHeaders
    public var body: Data?
    public var timeout: Timeout
    /// If the answer to ``HTTPTransport/send(_:progress:)`` has more bytes, a transport aborts it with
    /// ``MartletError/Code/unexpectedAnswer``.
    public var maximumAnswerSize: Int

    public init(
        method: String, url: URL, headers: HTTPHeaders = [:], body: Data? = nil, timeout: Timeout = .total(60),
        maximumAnswerSize: Int = HTTPRequest.largestAnswer
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.maximumAnswerSize = maximumAnswerSize
    }
}

/// Status and headers of an answer.
public struct HTTPHead: Sendable {
    public var status: Int
    public var headers: HTTPHeaders

    public init(status: Int, headers: HTTPHeaders = [:]) {
        self.status = status
        self.headers = headers
    }
}

/// A complete answer.
public struct HTTPResponse: Sendable {
    public var head: HTTPHead
    public var body: Data

    public var status: Int { head.status }
    public var headers: HTTPHeaders { head.headers }

    public init(status: Int, headers: HTTPHeaders = [:], body: Data = Data()) {
        head = HTTPHead(status: status, headers: headers)
        self.body = body
    }
}

/// An answer whose body arrives in pieces.
public struct HTTPStream: Sendable {
    public var head: HTTPHead
    /// The body. Ending the iteration closes the connection. If 16 MiB are waiting to be read, the body ends after them
    /// with ``MartletError/Code/connectionLost``.
    public var body: AsyncThrowingStream<Data, any Error>

    public init(head: HTTPHead, body: AsyncThrowingStream<Data, any Error>) {
        self.head = head
        self.body = body
    }
}

/// Sends requests. MartletKit has one that uses `URLSession`; tests can bring their own.
///
/// A transport neither retries nor follows redirects. It throws ``MartletError`` with
/// ``MartletError/Code/notConnected`` if the request was certainly not sent,
/// ``MartletError/Code/connectionLost`` or ``MartletError/Code/timedOut`` if it may have been, and `CancellationError`
/// when its task is cancelled.
public protocol HTTPTransport: Sendable {
    /// - Parameter progress: Called with the bytes of the body that were sent so far.
    func send(_ request: HTTPRequest, progress: (@Sendable (Int64) -> Void)?) async throws -> HTTPResponse

    /// Returns when the head has arrived.
    func stream(_ request: HTTPRequest) async throws -> HTTPStream
}
