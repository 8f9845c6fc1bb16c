/// Flushes output that libpq could not send immediately.
extension Engine {
    func needsFlush(_ connection: Connection) {
        connection.isDirty = true
    }

    /// Flushes what was sent in this turn. Usually nothing is left: libpq 15 flushes at every sync with one `send` per
    /// statement, which takes 15 % of the client's CPU time. (`PQsendPipelineSync` of libpq 17 does not.)
    func flush() {
        for connection in connections where connection.isDirty { flush(connection) }
        if let connection = listener.connection, connection.isDirty { flush(connection) }
    }

    func flush(_ connection: Connection) {
        connection.isDirty = false
        guard let isEmpty = connection.flush() else { return lose(connection, nil) }
        guard connection.isWatchingForWritable == isEmpty else { return }
        connection.isWatchingForWritable = !isEmpty
        poller.watch(connection.socket, key: UInt64(connection.id), writable: !isEmpty)
    }
}
