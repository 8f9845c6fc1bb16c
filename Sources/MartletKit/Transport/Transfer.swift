import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One request on its way, with its timeout.
///
/// The closures are set before `resume` and called one after the other on the session's queue.
final class Transfer: @unchecked Sendable {
    private struct State {
        var lastActivity = Date()
        var failure: (any Error)?
        var hasStarted = false
        var hasEnded = false
    }

    private let task: URLSessionTask
    private let timeout: HTTPRequest.Timeout
    private let state = Locked(State())

    var onHead: (HTTPHead) -> Void = { _ in }
    /// Returns the error with which the transfer must end; nil to continue.
    var onData: (Data) -> MartletError? = { _ in nil }
    var onSent: ((Int64) -> Void)?
    var onEnd: ((any Error)?) -> Void = { _ in }

    init(_ task: URLSessionTask, timeout: HTTPRequest.Timeout) {
        self.task = task
        self.timeout = timeout
    }

    func resume() {
        let wasCancelled = state.withLock { state in
            state.lastActivity = Date()
            state.hasStarted = true
            return state.failure != nil
        }
        check(after: limit)
        task.resume()
        // Cancelled before the closures were set. Now the end can be reported to them.
        if wasCancelled { task.cancel() }
    }

    private var limit: TimeInterval {
        switch timeout {
        case .total(let seconds), .idle(let seconds): seconds
        }
    }

    /// Ends the transfer with `CancellationError`.
    func cancel() { abort(CancellationError()) }

    func received(_ head: HTTPHead) {
        noteActivity()
        onHead(head)
    }

    func received(_ data: Data) {
        noteActivity()
        if let failure = onData(data) { abort(failure) }
    }

    func sent(_ bytes: Int64) {
        noteActivity()
        onSent?(bytes)
    }

    func ended(_ error: (any Error)?) {
        let failure = state.withLock { state in
            state.hasEnded = true
            return state.failure
        }
        onEnd(failure ?? error.map(Self.translate))
    }

    private func abort(_ error: any Error) {
        let isUnderWay = state.withLock { state in
            guard !state.hasEnded, state.failure == nil else { return false }
            state.failure = error
            return state.hasStarted
        }
        if isUnderWay { task.cancel() }
    }

    private func noteActivity() {
        if case .idle = timeout { state.withLock { $0.lastActivity = Date() } }
    }

    /// Ends the transfer if its time is over; otherwise checks again when it will be.
    private func check(after delay: TimeInterval) {
        DispatchQueue.global().asyncAfter(deadline: .now() + delay) { [weak self] in
            guard let self else { return }
            let (idle, hasEnded) = state.withLock { (Date().timeIntervalSince($0.lastActivity), $0.hasEnded) }
            if hasEnded { return }
            let limit = limit
            // A clock that was set back must not keep the transfer alive forever.
            if idle >= limit || idle < -1 {
                abort(MartletError(.timedOut, "There was no answer within \(limit) seconds."))
            } else {
                check(after: max(limit - idle, 0.05))
            }
        }
    }

    private static func translate(_ error: any Error) -> any Error {
        guard let error = error as? URLError else {
            return MartletError(.connectionLost, "The connection failed: \(error)", underlyingError: error)
        }
        switch error.code {
        case .cancelled: return CancellationError()
        case .timedOut: return MartletError(.timedOut, "There was no answer in time.", underlyingError: error)
        case .notConnectedToInternet, .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .dataNotAllowed,
            .internationalRoamingOff, .callIsActive, .secureConnectionFailed, .serverCertificateUntrusted,
            .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid,
            .appTransportSecurityRequiresSecureConnection, .unsupportedURL, .badURL:
            let message = "The server could not be reached: \(error.localizedDescription)"
            return MartletError(.notConnected, message, underlyingError: error)
        default:
            let message = "The connection broke: \(error.localizedDescription)"
            return MartletError(.connectionLost, message, underlyingError: error)
        }
    }
}
