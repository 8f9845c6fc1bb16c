/// Writing what libpq could not write at once.
extension Engine {
    func needsFlush(_ connection: Connection) {
        connection.isDirty = true
    }

    /// Flushes what was sent in this turn. Mostly nothing is left: libpq 15 flushes at every sync, one `send` per statement,
    /// measured as 15 % of the client's CPU. (libpq 17's `PQsendPipelineSync` does not.)
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
