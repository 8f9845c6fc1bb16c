/// Gives transactions their own connections.
final class Leases {
    private let context: EngineContext
    /// One connection less than the maximum, so that transactions cannot starve queries outside transactions. A
    /// transaction's own task may run such a query and would then wait forever.
    private let maximumLeases: Int
    /// The transactions without a connection.
    private(set) var waiting = RequestQueue()

    init(context: EngineContext) {
        self.context = context
        maximumLeases = max(1, context.configuration.maximumConnections - 1)
    }

    func append(_ request: Request) { waiting.append(request) }

    /// Records that a waiting transaction was given up.
    func didGiveUp() { waiting.didGiveUp() }

    /// Grants the reservations of idle connections. Withdraws those of connections whose head is slow, because another
    /// connection may become free sooner.
    func settleReservations(of connections: [Connection], slowSince: Nanoseconds) {
        for connection in connections {
            if connection.isIdle, let request = connection.reservation {
                connection.reservation = nil
                if !request.isDone { grant(connection, to: request) }
            } else if connection.isSlow(since: slowSince) {
                withdrawReservation(of: connection)
            }
        }
    }

    /// Grants idle connections. If there is none and `expectsConnection` is false, reserves busy ones.
    func grant(_ connections: [Connection], slowSince: Nanoseconds, expectsConnection: Bool) {
        var used = connections.count { $0.lease != nil || $0.reservation != nil }
        while used < maximumLeases, let request = waiting.first() {
            let free = connections.filter { $0.isShared(depth: .max) }
            if let idle = free.first(where: { $0.isIdle }) {
                waiting.removeFirst()
                grant(idle, to: request)
            } else if !expectsConnection,
                let soonest = free.filter({ !$0.isSlow(since: slowSince) }).min(by: {
                    $0.inFlight.count < $1.inFlight.count
                })
            {
                waiting.removeFirst()
                soonest.reservation = request
            } else {
                return
            }
            used += 1
        }
    }

    /// Returns the transaction that waits for this connection to the front of the queue.
    func withdrawReservation(of connection: Connection) {
        guard let request = connection.reservation else { return }
        connection.reservation = nil
        if !request.isDone { waiting.prepend(request) }
    }

    private func grant(_ connection: Connection, to request: Request) {
        let lease = Lease(connection: connection.id)
        connection.lease = lease
        context.complete(request, .success(.lease(lease)))
    }
}
