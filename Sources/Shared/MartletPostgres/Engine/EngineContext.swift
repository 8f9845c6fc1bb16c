import Logging

/// What the parts of the engine share, and the time and metrics of the current turn.
final class EngineContext {
    let configuration: PostgresConfiguration
    let mailbox: Mailbox
    let poller: Poller
    let logger: Logger
    /// The time at the start of the turn or of the current batch of answers.
    private(set) var now = monotonicNow()
    var metrics = EngineMetrics()

    init?(configuration: PostgresConfiguration, mailbox: Mailbox, logger: Logger) {
        guard let poller = Poller(waker: mailbox.waker) else { return nil }
        self.configuration = configuration
        self.mailbox = mailbox
        self.poller = poller
        self.logger = logger
    }

    func updateTime() { now = monotonicNow() }

    /// Resumes the task that waits for the request. Only the first call has an effect.
    func complete(_ request: Request, _ result: Result<Request.Reply, PostgresError>) {
        guard !request.isDone else { return }
        if case .internalStatement = request.work {} else { metrics.didAnswer(after: now - request.startedAt) }
        if case .failure(let error) = result { metrics.didFail(error.code) }
        request.complete(result, now: now)
    }
}

// MARK: - Connections

extension EngineContext {
    /// Starts an attempt to connect, whose result arrives as a message. False if there is no thread for it.
    func startConnecting(isListener: Bool) -> Bool {
        let connector = Connector(configuration: configuration)
        let mailbox = mailbox
        return startThread("pg-connect") {
            let result = connector.connect()
            if !mailbox.post(.connected(result, isListener: isListener)), case .success(let handle) = result {
                handle.close()
            }
        }
    }

    func open(_ handle: ConnectionHandle) -> Connection {
        Connection(
            id: poller.add(handle.socket), handle: handle,
            statementCacheSize: configuration.preparedStatementCacheSize)
    }
}
