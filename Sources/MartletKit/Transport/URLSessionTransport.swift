#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif

/// Sends requests with `URLSession`, without cookies, caches or redirects.
public final class URLSessionTransport: HTTPTransport {
    private let session: URLSession
    private let delegate: TransferDelegate

    /// - Parameter configuration: For example one with a proxy. Its cookies and cache are switched off.
    public init(configuration: URLSessionConfiguration = .ephemeral) {
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        // A live stream occupies a connection where there is no HTTP/2.
        configuration.httpMaximumConnectionsPerHost = 32
        // `Transfer` has its own timeouts, which are the same on every platform.
        configuration.timeoutIntervalForRequest = 24 * 3_600
        delegate = TransferDelegate()
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    deinit { session.finishTasksAndInvalidate() }

    public func send(_ request: HTTPRequest, progress: (@Sendable (Int64) -> Void)?) async throws -> HTTPResponse {
        let collector = Locked((head: HTTPHead(status: 0), body: Data()))
        let transfer = start(request)
        transfer.onSent = progress
        transfer.onData = { data in
            let isWithinLimit = collector.withLock { collector in
                collector.body.append(data)
                return collector.body.count <= request.maximumAnswerSize
            }
            return isWithinLimit ? nil : MartletError(.unexpectedAnswer, "The answer is larger than expected.")
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                transfer.onHead = { head in collector.withLock { $0.head = head } }
                transfer.onEnd = { error in
                    if let error { return continuation.resume(throwing: error) }
                    let (head, body) = collector.withLock { $0 }
                    continuation.resume(
                        returning: HTTPResponse(status: head.status, headers: head.headers, body: body))
                }
                transfer.resume()
            }
        } onCancel: {
            transfer.cancel()
        }
    }

    public func stream(_ request: HTTPRequest) async throws -> HTTPStream {
        #if canImport(FoundationNetworking)
        // On Linux, a transfer that opened its own connection keeps a processor busy until it ends, because the session
        // is woken whenever the connection can be written to. This does not happen on a connection that was used
        // before.
        let own = URLSessionTransport(configuration: session.configuration)
        try await own.connect(for: request)
        return try await own.open(request)
        #else
        return try await open(request)
        #endif
    }

    #if canImport(FoundationNetworking)
    /// Opens the connection that the next request of this transport uses.
    private func connect(for request: HTTPRequest) async throws {
        guard let url = URL(string: "/health/ready", relativeTo: request.url)?.absoluteURL else { return }
        _ = try await send(HTTPRequest(method: "HEAD", url: url, timeout: request.timeout), progress: nil)
    }
    #endif

    private func open(_ request: HTTPRequest) async throws -> HTTPStream {
        let (body, feed) = BodyFeed.make()
        let arriving = Locked(feed)
        let transfer = start(request)
        // Keeps the transport, whose session ends with it.
        feed.continuation.onTermination = { _ in withExtendedLifetime(self) { transfer.cancel() } }
        transfer.onData = { data in
            guard !arriving.withLock({ $0.pass(data) }) else { return nil }
            return MartletError(.connectionLost, "The answer arrived faster than it was read.")
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<HTTPStream, any Error>) in
                let waiting = Locked<CheckedContinuation<HTTPStream, any Error>?>(continuation)
                transfer.onHead = { head in
                    waiting.withLock { $0.take() }?.resume(returning: HTTPStream(head: head, body: body))
                }
                transfer.onEnd = { error in
                    if let waiting = waiting.withLock({ $0.take() }) {
                        let lost = MartletError(.connectionLost, "The connection ended before the answer.")
                        waiting.resume(throwing: error ?? lost)
                    }
                    feed.continuation.finish(throwing: error)
                }
                transfer.resume()
            }
        } onCancel: {
            transfer.cancel()
        }
    }

    private func start(_ request: HTTPRequest) -> Transfer {
        var urlRequest = URLRequest(url: request.url)
        urlRequest.httpMethod = request.method
        urlRequest.timeoutInterval = 24 * 3_600
        for (name, value) in request.headers.all { urlRequest.setValue(value, forHTTPHeaderField: name) }
        let task: URLSessionTask
        if let body = request.body {
            task = session.uploadTask(with: urlRequest, from: body)
        } else {
            task = session.dataTask(with: urlRequest)
        }
        let transfer = Transfer(task, timeout: request.timeout)
        delegate.add(transfer, for: task)
        return transfer
    }
}

/// Passes the events of `URLSession` to the transfer that they concern.
private final class TransferDelegate: NSObject, URLSessionDataDelegate {
    private let transfers = Locked<[Int: Transfer]>([:])

    func add(_ transfer: Transfer, for task: URLSessionTask) {
        transfers.withLock { $0[task.taskIdentifier] = transfer }
    }

    private func transfer(of task: URLSessionTask) -> Transfer? { transfers.withLock { $0[task.taskIdentifier] } }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        var head = HTTPHead(status: 0)
        if let response = response as? HTTPURLResponse {
            head.status = response.statusCode
            for (name, value) in response.allHeaderFields { head.headers["\(name)"] = "\(value)" }
        }
        transfer(of: dataTask)?.received(head)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        transfer(of: dataTask)?.received(data)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        transfer(of: task)?.sent(totalBytesSent)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        transfers.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.ended(error)
    }
}
