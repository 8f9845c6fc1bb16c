import CLibPQ
import Glibc

/// A connection that is up, in pipeline mode, and belongs to whoever holds the handle.
///
/// `@unchecked Sendable`: libpq allows any thread to use a connection, one at a time; the connector hands it on and forgets it.
struct ConnectionHandle: @unchecked Sendable {
    let pointer: OpaquePointer
}

/// Makes one connection. Blocks: name look-up, TLS and the password's hash take a while. Runs on a thread of its own.
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
        // Notices go nowhere: they may quote values.
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

    /// `nil` when libpq cannot read the string. Its reason is dropped: it may quote the password.
    init?(connectionString: String) {
        guard !connectionString.utf8.contains(0), let list = PQconninfoParse(connectionString, nil) else { return nil }
        defer { PQconninfoFree(list) }
        var option = list
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
    }

    /// What the configuration sets. Values of the connection string win, except settings, which add up.
    mutating func apply(_ configuration: PostgresConfiguration) {
        values["client_encoding"] = "UTF8"
        let defaults = [
            "application_name": configuration.applicationName, "keepalives_idle": "30", "keepalives_interval": "10",
            "keepalives_count": "3",
            // Kerberos is not looked for, unless asked: it costs a round trip and loads libraries that keep global state.
            "gssencmode": "disable",
        ]
        values.merge(defaults) { own, _ in own }
        var settings = configuration.sessionSettings
        let limits = [
            "statement_timeout": String(Engine.statementTimeoutInMilliseconds(configuration.queryTimeout.nanoseconds)),
            "lock_timeout": String(Self.milliseconds(configuration.lockTimeout)),
            // What others see is on disk: an acknowledged write survives a crash, and so does the number of a transaction that a follower has
            // seen (`Snapshot.durable`). Stronger than the server's, the role's and the database's setting.
            "synchronous_commit": "on",
        ]
        settings.merge(limits) { own, _ in own }
        let added = settings.sorted { $0.key < $1.key }.map { "-c \(Self.escape($0.key))=\(Self.escape($0.value))" }
        values["options"] = ([values["options"]].compactMap { $0 } + added).joined(separator: " ")
    }

    /// `nil` when out of memory.
    func start() -> OpaquePointer? {
        let pairs = values.map { (strdup($0.key), strdup($0.value)) }
        defer { pairs.forEach { free($0.0); free($0.1) } }
        let keywords: [UnsafePointer<CChar>?] = pairs.map { UnsafePointer($0.0) } + [nil]
        let contents: [UnsafePointer<CChar>?] = pairs.map { UnsafePointer($0.1) } + [nil]
        return PQconnectStartParams(keywords, contents, 0)
    }

    /// At least one, unless it is zero, which PostgreSQL takes for no limit.
    private static func milliseconds(_ duration: Duration) -> Int64 {
        min((duration.nanoseconds + 999_999) / 1_000_000, Int64(Int32.max))
    }

    /// The server splits `options` at white space; a backslash keeps the next character.
    private static func escape(_ text: String) -> String {
        text.reduce(into: "") { escaped, character in
            if character.isWhitespace || character == "\\" { escaped.append("\\") }
            escaped.append(character)
        }
    }
}
