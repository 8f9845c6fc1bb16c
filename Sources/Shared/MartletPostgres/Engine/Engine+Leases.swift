/// Connections used exclusively by one transaction.
extension Engine {
    /// One connection is reserved for queries outside transactions, so that these cannot starve, and neither can a
    /// transaction's own task that runs such a query.
    private var maximumLeases: Int { max(1, configuration.maximumConnections - 1) }

    func grantReservations() {
        for connection in connections where connection.reservation != nil {
            if connection.isIdle {
                grantReservation(connection)
            } else if connection.isSlow(since: slowSince) {
                withdrawReservation(connection)
            }
        }
    }

    func grantLeases() {
        var used = connections.count { $0.lease != nil || $0.reservation != nil }
        while used < maximumLeases, let request = waitingForLease.first() {
            let free = connections.filter { $0.isShared(depth: .max) }
            if let idle = free.first(where: { $0.isIdle }) {
                waitingForLease.removeFirst()
                grant(idle, to: request)
            } else if connections.count == configuration.maximumConnections
                || (attempt.running == 0 && attempt.notBefore > now),
                let soonest = free.filter({ !$0.isSlow(since: slowSince) }).min(by: {
                    $0.inFlight.count < $1.inFlight.count
                })
            {
                waitingForLease.removeFirst()
                soonest.reservation = request
            } else {
                return
            }
            used += 1
        }
    }

    func release(_ lease: Lease, isReusable: Bool) {
        guard let connection = connection(lease.connection), connection.lease === lease else { return }
        connection.lease = nil
        for request in connection.held.removeAll() { complete(request, .failure(.lost(mayHaveExecuted: false))) }
        if !isReusable || !connection.isIdle { lose(connection, nil) }
    }

    /// Returns the request to the queue, because it would wait for a slow statement while another connection may become
    /// free sooner.
    private func withdrawReservation(_ connection: Connection) {
        guard let request = connection.reservation else { return }
        connection.reservation = nil
        if !request.isDone { waitingForLease.prepend(request) }
    }

    private func grantReservation(_ connection: Connection) {
        guard let request = connection.reservation else { return }
        connection.reservation = nil
        if request.isDone { return }
        grant(connection, to: request)
    }

    private func grant(_ connection: Connection, to request: Request) {
        let lease = Lease(connection: connection.id)
        connection.lease = lease
        complete(request, .success(.lease(lease)))
    }
}
