import CLibPQ
import Glibc

/// An established connection in pipeline mode, owned by the holder of the handle.
///
/// `@unchecked Sendable`: libpq allows any thread to use a connection, one at a time. The connector passes the handle
/// on and keeps no reference.
struct ConnectionHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    var socket: Int32 { PQsocket(pointer) }

    func close() { PQfinish(pointer) }
}

/// Opens one connection. Blocks during name resolution, TLS and password hashing, so it runs on a separate thread.
struct Connector: Sendable {
    let configuration: PostgresConfiguration

    func connect() -> Result<ConnectionHandle, PostgresError> {
        guard var options = ConnectionOptions(connectionString: configuration.connectionString) else {
            return .failure(PostgresError(.unavailable, "the connection string is not valid"))
        }
        options.apply(configuration)
        guard let pointer = options.start() else { return .failure(.connecting("out of memory")) }
        if let error = poll(pointer) ?? prepare(pointer) {
            PQfinish(pointer)
            return .failure(error)
        }
        return .success(ConnectionHandle(pointer: pointer))
    }

    private func poll(_ pointer: OpaquePointer) -> PostgresError? {
        let deadline = monotonicNow() + configuration.connectTimeout.nanoseconds
        var events = Int16(POLLOUT)
        while PQstatus(pointer) != CONNECTION_BAD {
            var descriptor = pollfd(fd: PQsocket(pointer), events: events, revents: 0)
            let remaining = (deadline - monotonicNow()) / 1_000_000
            guard remaining > 0 else { return .connecting("timeout") }
            guard Glibc.poll(&descriptor, 1, Int32(clamping: remaining)) > 0 else { continue }
            switch PQconnectPoll(pointer) {
            case PGRES_POLLING_OK: return nil
            case PGRES_POLLING_READING: events = Int16(POLLIN)
            case PGRES_POLLING_WRITING: events = Int16(POLLOUT)
            default: return failure(pointer)
            }
        }
        return failure(pointer)
    }

    private func prepare(_ pointer: OpaquePointer) -> PostgresError? {
        // Discard notices, because they may contain values.
        PQsetNoticeReceiver(pointer, { _, _ in }, nil)
        guard PQsetnonblocking(pointer, 1) == 0, PQenterPipelineMode(pointer) == 1 else { return failure(pointer) }
        return nil
    }

    private func failure(_ pointer: OpaquePointer) -> PostgresError {
        .connecting(PQerrorMessage(pointer).map { String(cString: $0) } ?? "")
    }
}

/// libpq's connection parameters.
struct ConnectionOptions {
    private var values: [String: String] = [:]

    /// `nil` if libpq cannot parse the string. Its message is dropped because it may contain the password.
    init?(connectionString: String) {
        guard !connectionString.utf8.contains(0), let list = PQconninfoParse(connectionString, nil) else { return nil }
        defer { PQconninfoFree(list) }
        var option = list
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
    }

    /// Applies the configuration. Values in the connection string take precedence, except session settings, which are
    /// combined.
    mutating func apply(_ configuration: PostgresConfiguration) {
        values["client_encoding"] = "UTF8"
        let defaults = [
            "application_name": configuration.applicationName, "keepalives_idle": "30", "keepalives_interval": "10",
            "keepalives_count": "3",
            // Keep-alive probes are not sent while data is unacknowledged, so a host that vanished needs this limit.
            "tcp_user_timeout": "60000",
            // Disable Kerberos unless requested: it costs a round trip and loads libraries with global state.
            "gssencmode": "disable",
        ]
        values.merge(defaults) { own, _ in own }
        var settings = configuration.sessionSettings
        let limits = [
            "statement_timeout": String(Engine.statementTimeoutInMilliseconds(configuration.queryTimeout.nanoseconds)),
            "lock_timeout": String(Self.milliseconds(configuration.lockTimeout)),
            // Visible changes must be on disk: an acknowledged write survives a crash, and so does a transaction number
            // that a follower has seen (`Snapshot.durable`). Takes precedence over settings of the server, role and
            // database.
            "synchronous_commit": "on",
        ]
        settings.merge(limits) { own, _ in own }
        let added = settings.sorted { $0.key < $1.key }.map { "-c \(Self.escape($0.key))=\(Self.escape($0.value))" }
        values["options"] = ([values["options"]].compactMap { $0 } + added).joined(separator: " ")
    }

    /// `nil` if out of memory.
    func start() -> OpaquePointer? {
        let pairs = values.map { (strdup($0.key), strdup($0.value)) }
        defer {
            pairs.forEach {
                free($0.0)
                free($0.1)
            }
        }
        let keywords: [UnsafePointer<CChar>?] = pairs.map { UnsafePointer($0.0) } + [nil]
        let contents: [UnsafePointer<CChar>?] = pairs.map { UnsafePointer($0.1) } + [nil]
        return PQconnectStartParams(keywords, contents, 0)
    }

    /// Rounds up to at least one. Zero stays zero, which means no limit in PostgreSQL.
    private static func milliseconds(_ duration: Duration) -> Int64 {
        min((duration.nanoseconds + 999_999) / 1_000_000, Int64(Int32.max))
    }

    /// The server splits `options` at white space; a backslash escapes the next character.
    private static func escape(_ text: String) -> String {
        text.reduce(into: "") { escaped, character in
            if character.isWhitespace || character == "\\" { escaped.append("\\") }
            escaped.append(character)
        }
    }
}
