import Logging

/// `LISTEN`: one connection for all subscribers, opened for the first one.
extension Engine {
    func listen(_ subscription: Subscription) {
        let isNew = listener.add(subscription)
        guard let connection = listener.connection else { return }
        if isNew {
            sendListen(subscription.channel, on: connection)
        } else if listener.subscriptions(to: subscription.channel).contains(where: { $0.isActive }) {
            subscription.activate()
        }
    }

    func unlisten(_ id: Int) {
        guard let channel = listener.remove(id), let connection = listener.connection else { return }
        sendListener(.unlisten, "UNLISTEN", channel, on: connection)
    }

    func reconnectListenerIfWanted() {
        if listener.startsConnecting(now: now) { startConnecting(isListener: true) }
    }

    func listenerDidConnect(_ connection: Connection) {
        listener.didConnect(connection)
        for channel in listener.channels { sendListen(channel, on: connection) }
    }

    func listenerDidFail() {
        listener.didFail(now: now)
    }

    func listenerDidLose() {
        listener.didFail(now: now)
        logger.debug("Lost the listening connection to PostgreSQL; reconnecting.")
    }

    func didListen(_ channel: String, _ failure: PostgresError?, on connection: Connection) {
        guard failure == nil else { return lose(connection, failure) }
        for subscription in listener.subscriptions(to: channel) { subscription.activate() }
    }

    func receiveNotifications(_ connection: Connection) {
        while let (channel, payload, processID) = connection.receiveNotification() {
            for subscription in listener.subscriptions(to: channel) {
                subscription.yield(.message, payload: payload, processID: processID)
            }
        }
    }

    private func sendListen(_ channel: String, on connection: Connection) {
        sendListener(.listen(channel: channel), "LISTEN", channel, on: connection)
    }

    private func sendListener(_ work: Request.Work, _ verb: String, _ channel: String, on connection: Connection) {
        guard let name = PostgresIdentifier(channel) else { return }
        var query = PostgresQuery(unescaped: "\(verb) \(name.quoted)")
        query.isPrepared = false
        let request = Request(work, query, timeout: Self.internalStatementTimeout)
        guard connection.send(request, parameters: parameters) else { return lose(connection, nil) }
        watchDeadline(of: request)
        needsFlush(connection)
    }
}
