import Foundation
import Logging
import NIOCore

/// The queue and the connections of one client. All of it runs on one event loop, so it needs no locks.
final class APNsPool {
    private let configuration: APNsConfiguration
    private let token: APNsProviderToken
    private let connector: APNsConnector
    private let now: @Sendable () -> Date
    private let logger: Logger

    private var waiting = CircularBuffer<APNsRequest>()
    private var connections: [APNsConnection] = []
    private var plan: ConnectionPlan
    private var isDispatchScheduled = false
    private var isTimerScheduled = false
    private var hasCancelled = false
    private var ticks: RepeatedTask?
    private var shutdown: EventLoopPromise<Void>?
    private var openedCount = 0
    private var lastFailure: String?

    init(
        _ configuration: APNsConfiguration, _ token: APNsProviderToken, _ connector: APNsConnector,
        now: @escaping @Sendable () -> Date, logger: Logger
    ) {
        self.configuration = configuration
        self.token = token
        self.connector = connector
        self.now = now
        self.logger = logger
        plan = ConnectionPlan(configuration)
    }

    private var loop: any EventLoop { connector.loop }

    // MARK: For the client

    func enqueue(_ request: APNsRequest) {
        guard shutdown == nil else { return request.finish(.failed(.notSent, reason: "shut-down")) }
        guard !request.ticket.isCancelled else { return request.finish(.failed(.notSent, reason: "cancelled")) }
        guard waiting.count < configuration.maximumWaiting else {
            return request.finish(.failed(.notSent, reason: "queue-full"))
        }
        waiting.append(request)
        startTicking()
        dispatchSoon()
    }

    /// Called after the task of a request that may still be waiting was cancelled.
    func lookForCancelled() {
        guard !hasCancelled else { return }
        hasCancelled = true
        dispatchSoon()
    }

    /// Fails the waiting requests, waits for the answers to sent ones, and closes the connections; then succeeds
    /// `done`.
    func shutDown(_ done: EventLoopPromise<Void>) {
        if let shutdown { return shutdown.futureResult.cascade(to: done) }
        shutdown = done
        while let request = waiting.popFirst() { request.finish(.failed(.notSent, reason: "shut-down")) }
        for connection in connections { connection.drain() }
        startTicking()
        loop.assumeIsolated().scheduleTask(in: configuration.drainLimit) {
            for connection in self.connections { connection.close("drain-timeout") }
        }
        finishShutdown()
    }

    var status: APNsStatus {
        APNsStatus(
            connections: connections.count, openedConnections: openedCount,
            inFlight: connections.reduce(0) { $0 + $1.inFlight }, waiting: waiting.count,
            lastFailure: lastFailure)
    }

    // MARK: For connections

    func opened(_ connection: APNsConnection) {
        plan.opened()
        openedCount += 1
        connections.append(connection)
        if shutdown != nil { connection.drain() }
        dispatchSoon()
    }

    func receivedFirstAnswer() {
        plan.receivedFirstAnswer()
        lastFailure = nil
    }

    /// - Parameter reason: Why there is no answer, if there is none.
    func ended(_ ended: StreamTable.Ended, reason: String) {
        let request = ended.request
        switch ended.end {
        case .answered(let answer):
            let outcome = answer.outcome(sent: request.sent, now: now())
            guard outcome.isExpiredTokenRefusal, request.attempts < configuration.maximumAttempts, shutdown == nil,
                token.renew(request.token, at: now())
            else {
                return request.finish(outcome)
            }
            waiting.prepend(request)
            dispatchSoon()
        case .unknown: request.finish(.failed(.unknown, reason: reason))
        case .refused where request.attempts >= configuration.maximumAttempts || shutdown != nil:
            request.finish(.failed(.notSent, reason: "refused"))
        case .refused:
            waiting.prepend(request)
            dispatchSoon()
        }
    }

    func ended(_ connection: APNsConnection, hadAnswered: Bool, cause: String) {
        logger.debug(
            "A connection to APNs ended.", metadata: ["apns.host": "\(configuration.host)", "error": "\(cause)"])
        if let index = connections.firstIndex(where: { $0 === connection }) {
            connections.remove(at: index)
            plan.ended(hadAnswered: hadAnswered, now: .now(), jitter: .random(in: 0...1))
        } else {
            plan.failed(now: .now(), jitter: .random(in: 0...1))
        }
        if !hadAnswered { lastFailure = cause }
        finishShutdown()
        dispatchSoon()
    }

    // MARK: Sending

    /// Passes waiting requests to connections that have room, and opens a connection if the plan allows one.
    func dispatch() {
        isDispatchScheduled = false
        if hasCancelled { dropCancelled() }
        if !waiting.isEmpty, connections.contains(where: { $0.room > 0 }) { sendWaiting() }
        switch plan.next(waiting: waiting.count, open: connections.count(where: \.isOpen), now: .now()) {
        case .nothing: break
        case .connect: connect()
        case .wait(let time): dispatch(at: time)
        }
    }

    private func sendWaiting() {
        let time = now()
        let text: String
        do {
            text = try token.text(at: time)
        } catch {
            while let request = waiting.popFirst() {
                request.finish(.failed(.credentialBroken, reason: "signing-failed"))
            }
            return
        }
        let authorization = "bearer " + text
        while let connection = connections.max(by: { $0.room < $1.room }), connection.room > 0,
            var request = waiting.popFirst()
        {
            request.sent = time
            request.token = text
            connection.send(request, authorization: authorization)
        }
        for connection in connections { connection.flush() }
    }

    private func dropCancelled() {
        hasCancelled = false
        var kept = CircularBuffer<APNsRequest>(initialCapacity: waiting.count)
        for request in waiting {
            if request.ticket.isCancelled {
                request.finish(.failed(.notSent, reason: "cancelled"))
            } else {
                kept.append(request)
            }
        }
        waiting = kept
    }

    private func connect() {
        // Once part of a channel, the connection reports its end itself.
        connector.connect(APNsConnection(configuration, pool: self)) { [self] error in
            lastFailure = "\(type(of: error)): \(error)"
            logger.debug(
                "Could not connect to APNs; retrying after a pause.",
                metadata: ["apns.host": "\(configuration.host)", "error": "\(error)"])
            plan.failed(now: .now(), jitter: .random(in: 0...1))
            finishShutdown()
            dispatchSoon()
        }
    }

    // MARK: Time

    /// Dispatches once for all requests of the same iteration of the event loop, so that they are sent in one write.
    private func dispatchSoon() {
        guard !isDispatchScheduled else { return }
        isDispatchScheduled = true
        loop.assumeIsolated().execute { self.dispatch() }
    }

    private func dispatch(at time: NIODeadline) {
        guard !isTimerScheduled else { return }
        isTimerScheduled = true
        loop.assumeIsolated().scheduleTask(deadline: time) {
            self.isTimerScheduled = false
            self.dispatch()
        }
    }

    private func startTicking() {
        guard ticks == nil else { return }
        let pool = NIOLoopBound(self, eventLoop: loop)
        ticks = loop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { _ in pool.value.tick() }
    }

    private func tick() {
        let time = NIODeadline.now()
        while let request = waiting.first, request.expires <= time {
            waiting.removeFirst()
            request.finish(.failed(.notSent, reason: "wait-timeout"))
        }
        for connection in connections { connection.tick(time) }
        dispatch()
        guard connections.isEmpty, waiting.isEmpty, !plan.isConnecting else { return }
        ticks?.cancel()
        ticks = nil
    }

    private func finishShutdown() {
        if connections.isEmpty, !plan.isConnecting { shutdown?.succeed() }
    }
}

extension PushOutcome {
    /// The message was not processed, so it may succeed with another provider token.
    fileprivate var isExpiredTokenRefusal: Bool {
        if case .failed(let failure) = self {
            failure.reason == APNsReason.expiredProviderToken.rawValue
        } else {
            false
        }
    }
}
