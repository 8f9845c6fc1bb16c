import Foundation

/// Sends API calls: adds the address and the credentials, renews the session, retries where that is safe, and reads
/// errors.
///
/// A class, because everything that makes calls keeps one, and copying a struct with the configuration would retain
/// some thirty objects.
package final class APIClient: Sendable {
    package let configuration: Martlet.Configuration
    package let session: SessionKeeper

    init(_ configuration: Martlet.Configuration, session: SessionKeeper) {
        self.configuration = configuration
        self.session = session
    }

    /// The body of a successful answer as JSON; null if it has none.
    package func json(_ request: APIRequest) async throws -> JSON {
        let response = try await send(request)
        return response.body.isEmpty ? .null : try JSON(parsing: response.body)
    }

    /// A successful answer: 2xx, or 304 to a conditional request.
    @discardableResult
    package func send(_ request: APIRequest) async throws -> HTTPResponse {
        let timeout = HTTPRequest.Timeout.total(request.timeout ?? configuration.timeout)
        guard case .complete(let response) = try await perform(request, timeout: timeout) else {
            throw MartletError(.unexpectedAnswer, "Expected a complete answer, got a stream.")
        }
        return response
    }

    /// A successful answer whose body is read as it arrives.
    func stream(_ request: APIRequest, idleTimeout: TimeInterval) async throws -> HTTPStream {
        guard case .stream(let stream) = try await perform(request, timeout: .idle(idleTimeout)) else {
            throw MartletError(.unexpectedAnswer, "Expected a stream, got a complete answer.")
        }
        return stream
    }

    private enum Answer {
        case complete(HTTPResponse), stream(HTTPStream)
    }

    /// Requests a stream if the timeout limits idle time.
    private func exchange(_ http: HTTPRequest, _ request: APIRequest) async throws -> (HTTPHead, Answer, Data) {
        if case .idle = http.timeout {
            let stream = try await configuration.transport.stream(http)
            return (stream.head, .stream(stream), try await problem(in: stream))
        }
        let response = try await configuration.transport.send(http, progress: request.progress)
        return (response.head, .complete(response), response.body)
    }

    /// The body of an error response, which is short.
    private func problem(in stream: HTTPStream) async throws -> Data {
        var body = Data()
        guard stream.head.status >= 300 else { return body }
        for try await piece in stream.body {
            body.append(piece)
            if body.count >= 1 << 20 { break }
        }
        return body
    }

    private func perform(_ request: APIRequest, timeout: HTTPRequest.Timeout) async throws -> Answer {
        var attempts = Attempts(policy: configuration.retries, clock: configuration.clock)
        while true {
            try Task.checkCancellation()
            let session = try await session(for: request)
            try attempts.check(session?.user.id)
            let http = try prepare(request, session, timeout: timeout)
            let failure: MartletError
            do {
                let (head, answer, body) = try await exchange(http, request)
                if (200..<300).contains(head.status) || head.status == 304 {
                    log(.debug, "Received an answer", request, ["response.status": "\(head.status)"])
                    return answer
                }
                failure = MartletError(problem: body, head: head)
            } catch let error as MartletError {
                failure = error
            }
            if failure.code == .invalidToken, let session, attempts.mayRenewSession() {
                try await self.session.renew(session, by: self)
                continue
            }
            guard let delay = attempts.delay(after: failure, of: request) else {
                log(.info, "A call failed", request, metadata(of: failure))
                throw failure
            }
            log(.debug, "A call failed; retrying", request, metadata(of: failure))
            try await configuration.clock.sleep(delay)
        }
    }

    /// The session that the call belongs to; nil for a call of the app itself.
    private func session(for request: APIRequest) async throws -> Session? {
        let session = request.caller == .app ? nil : try await session.valid(by: self)
        if session == nil, request.caller == .user {
            throw MartletError(.notSignedIn, "This call needs a user who is signed in.")
        }
        if let expected = request.expectedUser, expected != session?.user.id { throw SessionKeeper.ended }
        return session
    }

    // Not inlined: the compiler splits `perform` into one function for each `await`, and would repeat inlined code in
    // each.

    @inline(never)
    private func prepare(
        _ request: APIRequest, _ session: Session?, timeout: HTTPRequest.Timeout
    ) throws -> HTTPRequest {
        guard let url = request.url(under: configuration.url, appKey: configuration.appKey) else {
            throw MartletError(.invalidArgument, "The address is not a URL: \(request.path)")
        }
        var headers = request.headers
        headers[MartletHeader.secret] = configuration.secret
        headers[MartletHeader.environment] = configuration.environment?.rawValue
        if case .idempotencyKey(let key) = request.repetition { headers["idempotency-key"] = key }
        if let session { headers["authorization"] = "Bearer " + session.accessToken }
        return HTTPRequest(
            method: request.method, url: url, headers: headers, body: request.body, timeout: timeout,
            maximumAnswerSize: request.maximumAnswerSize ?? HTTPRequest.largestAnswer)
    }

    @inline(never)
    private func log(
        _ level: Martlet.LogEntry.Level, _ message: String, _ request: APIRequest, _ more: [String: String]
    ) {
        guard configuration.log != nil else { return }
        let metadata = ["request.method": request.method, "request.path": request.path]
        configuration.log(level, message, metadata.merging(more) { $1 })
    }

    @inline(never)
    private func metadata(of error: MartletError) -> [String: String] {
        var metadata = ["error.code": error.code.rawValue]
        metadata["response.status"] = error.status.map(String.init)
        metadata["request.id"] = error.requestID
        return metadata
    }
}

/// Decides whether and when a failed call is sent again.
struct Attempts {
    let policy: Martlet.RetryPolicy
    let clock: WallClock
    private var count = 1
    private var hasRenewedSession = false
    /// Nil before the first attempt; afterwards the user's id, or `.some(nil)` for the app.
    private var caller: String??

    init(policy: Martlet.RetryPolicy, clock: WallClock) {
        self.policy = policy
        self.clock = clock
    }

    /// Refuses to repeat a call as a different user, who signed in between two attempts.
    mutating func check(_ user: String?) throws {
        if let caller, caller != user { throw SessionKeeper.ended }
        caller = .some(user)
    }

    /// True the first time. A token that is refused right after it was renewed will be refused again.
    mutating func mayRenewSession() -> Bool {
        defer { hasRenewedSession = true }
        return !hasRenewedSession
    }

    /// Seconds until the next attempt; nil if there is none.
    mutating func delay(after failure: MartletError, of request: APIRequest) -> TimeInterval? {
        guard count < min(policy.maximumAttempts, request.maximumAttempts),
            isWorthRepeating(failure, request.repetition)
        else { return nil }
        let limit = min(policy.maximumDelay, policy.firstDelay * pow(2, Double(count - 1)))
        count += 1
        guard let requested = failure.retryAfter else { return limit * clock.random() }
        return requested <= policy.maximumDelay ? requested + limit * clock.random() : nil
    }

    private func isWorthRepeating(_ failure: MartletError, _ repetition: APIRequest.Repetition) -> Bool {
        if failure.code == .notConnected || failure.status == 429 || failure.status == 503 { return true }
        if case .onlyIfNotDone = repetition { return false }
        return failure.isConnectionFailure
            || [408, 500, 502, 504].contains(failure.status)
                // The hook of the first attempt may still be running.
                && failure.code != .hookFailed
    }
}

extension MartletError {
    /// An error response of the server, or of a proxy in front of it that does not send JSON.
    init(problem body: Data, head: HTTPHead) {
        let json = try? JSON(parsing: body)
        let title = json?["title"]?.stringValue ?? "The server answered with status \(head.status)."
        self.init(
            Code(rawValue: json?["code"]?.stringValue ?? "http-\(head.status)"),
            json?["detail"]?.stringValue ?? title, status: head.status, field: json?["field"]?.stringValue,
            rows: (json?["rows"]?.arrayValue ?? []).compactMap(Row.init),
            requestID: json?["requestId"]?.stringValue ?? head.headers[MartletHeader.requestID],
            retryAfter: head.headers["retry-after"].flatMap { TimeInterval($0) }.map { max(0, $0) })
    }
}

extension MartletError.Row {
    fileprivate init?(_ json: JSON) {
        guard let row = json["row"]?.intValue, let reason = json["reason"]?.stringValue else { return nil }
        self.init(row: row, field: json["field"]?.stringValue, reason: reason)
    }
}
