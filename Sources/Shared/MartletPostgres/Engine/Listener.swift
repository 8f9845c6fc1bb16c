import Logging

/// `LISTEN`: one connection for all subscribers, opened for the first one.
final class Listener {
    private let context: EngineContext
    private let deadlines: Deadlines
    private let parameters = ParameterBuffer()

    private(set) var connection: Connection?
    private var subscriptions: [Int: Subscription] = [:]
    private(set) var isConnecting = false
    private var backoff = Backoff()
    private var notBefore: Nanoseconds = 0

    init(context: EngineContext, deadlines: Deadlines) {
        self.context = context
        self.deadlines = deadlines
    }

    func add(_ subscription: Subscription) {
        let others = subscriptions(to: subscription.channel)
        subscriptions[subscription.id] = subscription
        guard let connection else { return }
        if others.isEmpty {
            send(.listen(channel: subscription.channel), "LISTEN", subscription.channel, on: connection)
        } else if others.contains(where: { $0.isActive }) {
            subscription.activate()
        }
    }

    func remove(_ id: Int) {
        guard let channel = subscriptions.removeValue(forKey: id)?.channel, subscriptions(to: channel).isEmpty,
            let connection
        else { return }
        send(.unlisten, "UNLISTEN", channel, on: connection)
    }

    /// When to call `connectIfWanted`.
    var timer: Nanoseconds {
        connection != nil || isConnecting || subscriptions.isEmpty ? .max : notBefore
    }

    func connectIfWanted() {
        guard context.now >= timer else { return }
        isConnecting = true
        if !context.startConnecting(isListener: true) { didFail() }
    }

    func didConnect(_ result: Result<ConnectionHandle, PostgresError>) {
        guard case .success(let handle) = result else { return didFail() }
        let connection = context.open(handle)
        self.connection = connection
        isConnecting = false
        backoff.succeed()
        for channel in Set(subscriptions.values.map(\.channel)) {
            send(.listen(channel: channel), "LISTEN", channel, on: connection)
        }
    }

    func didAnswer(_ answer: Connection.Answer, on connection: Connection) {
        guard connection === self.connection, case .listen(let channel) = answer.segment.request.work else { return }
        guard answer.failure == nil else { return lose(connection) }
        for subscription in subscriptions(to: channel) { subscription.activate() }
    }

    func receiveNotifications(from connection: Connection) {
        while let (channel, payload, processID) = connection.receiveNotification() {
            for subscription in subscriptions(to: channel) {
                subscription.yield(.message, payload: payload, processID: processID)
            }
        }
    }

    func checkDeadline() {
        guard let connection, let request = connection.inFlight.first?.request else { return }
        if context.now >= request.deadline { lose(connection) } else { deadlines.watch(request) }
    }

    func lose(_ connection: Connection) {
        guard connection === self.connection else { return }
        context.poller.remove(connection.socket)
        didFail()
        context.logger.debug("Lost the listening connection to PostgreSQL; reconnecting.")
    }

    func finish() {
        subscriptions.values.forEach { $0.finish() }
    }

    private func didFail() {
        connection = nil
        isConnecting = false
        notBefore = context.now + backoff.fail(random: .random(in: 0...1))
        for subscription in subscriptions.values { subscription.isActive = false }
    }

    private func subscriptions(to channel: String) -> [Subscription] {
        subscriptions.values.filter { $0.channel == channel }
    }

    private func send(_ work: Request.Work, _ verb: String, _ channel: String, on connection: Connection) {
        guard let name = PostgresIdentifier(channel) else { return }
        var query = PostgresQuery(unescaped: "\(verb) \(name.quoted)")
        query.isPrepared = false
        let request = Request(work, query, timeout: Engine.internalStatementTimeout)
        guard connection.send(request, parameters: parameters) else { return lose(connection) }
        deadlines.watch(request)
    }
}
