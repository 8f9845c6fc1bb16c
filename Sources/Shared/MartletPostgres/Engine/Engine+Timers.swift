/// Timeouts, cancellations and delays between connection attempts.
extension Engine {
    /// Nanoseconds until the next timer; `nil` if there is none.
    var timeUntilTimer: Nanoseconds? {
        var next = min(sweepAt, drainDeadline)
        if attempt.isWanted, connections.isEmpty || !waiting.isEmpty || !waitingForLease.isEmpty, attempt.running == 0,
            attempt.notBefore > now
        {
            next = min(next, attempt.notBefore)
        }
        if let timer = listener.timer { next = min(next, timer) }
        for connection in connections {
            if let timer = connection.cancellation.timer { next = min(next, timer) }
            // Wake up to withdraw the reservation if the head turns out to be slow.
            if connection.reservation != nil {
                next = min(next, connection.headSince + configuration.maximumHeadAge.nanoseconds + 1)
            }
        }
        return next == .max ? nil : max(0, next - now)
    }

    /// Schedules one check of all deadlines for when the earliest is due. Most requests are answered long before.
    func watchDeadline(of request: Request) {
        sweepAt = min(sweepAt, request.deadline)
        if connections.isEmpty { sweepAt = min(sweepAt, connectionDeadline(of: request)) }
    }

    func fireTimers() {
        fireCancellations()
        if now >= sweepAt { sweep() }
    }

    private func fireCancellations() {
        for connection in connections {
            if let giveUpAt = connection.cancellation.giveUpAt, now >= giveUpAt {
                lose(connection, nil)
            } else if let dueAt = connection.cancellation.dueAt, now >= dueAt {
                let mailbox = mailbox, id = connection.id
                let isStarted = connection.startCancellation(now: now) {
                    mailbox.post(.cancellationSent(connection: id))
                }
                if !isStarted { lose(connection, nil) }
            }
        }
    }

    private func sweep() {
        sweepAt = .max
        var overdue: [Request] = []
        var cutOff: [Request] = []
        let hasNoConnection = connections.isEmpty
        func look(_ request: Request, isQueued: Bool) {
            if now >= request.deadline {
                overdue.append(request)
            } else if isQueued, hasNoConnection, now >= connectionDeadline(of: request) {
                cutOff.append(request)
            } else {
                watchDeadline(of: request)
            }
        }
        waiting.forEach { look($0, isQueued: true) }
        waitingForLease.forEach { look($0, isQueued: true) }
        for connection in connections {
            connection.inFlight.forEach { if !$0.request.isDone { look($0.request, isQueued: false) } }
            connection.held.forEach { if !$0.isDone { look($0, isQueued: false) } }
            if let reservation = connection.reservation, !reservation.isDone { look(reservation, isQueued: false) }
        }
        if let connection = listener.connection, let request = connection.inFlight.first?.request {
            if now >= request.deadline { lose(connection, nil) } else { watchDeadline(of: request) }
        }
        for request in overdue { giveUp(request, .timeout) }
        for request in cutOff { cutOffFromServer(request) }
    }

    private func connectionDeadline(of request: Request) -> Nanoseconds {
        max(request.startedAt, attempt.aloneSince) + configuration.waitForConnectionTimeout.nanoseconds
    }

    private func cutOffFromServer(_ request: Request) {
        complete(
            request,
            .failure(attempt.lastError ?? PostgresError(.unavailable, "could not connect to PostgreSQL in time")))
        didGiveUpWaiting(request)
    }
}
