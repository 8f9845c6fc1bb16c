import Foundation
import Glibc
import Logging
import MartletCore
public import MartletPostgres
import Synchronization

/// A temporary PostgreSQL cluster with its own directory, random port and password, removed when the process ends.
///
///     let server = try await PostgresServer.shared()
///     let client = PostgresClient(configuration: try await server.makeDatabase(), logger: logger)
public final class PostgresServer: Sendable {
    public struct Options: Sendable {
        /// Whether PostgreSQL waits for the disk. False is several times as fast, and safe for tests, because the
        /// cluster does not outlive the process.
        public var fsync = false
        public var maximumConnections = 200
        /// Additional settings for `postgresql.conf`.
        public var settings: [String: String] = [:]

        public init() {}
    }

    public let port: Int
    public let user = "postgres"
    public let password: String
    /// Contains the socket and, in `data`, the cluster.
    public let directory: String
    private let options: Options
    private let command: PostgresCommand
    private let lastDatabase = Atomic<Int>(0)

    /// The server shared by all tests of this process. Do not stop it.
    public static func shared() async throws -> PostgresServer { try await SharedServer.instance.server() }

    /// Creates and starts a cluster, which takes about two seconds.
    public static func start(_ options: Options = Options()) async throws -> PostgresServer {
        let server = try PostgresServer(options)
        try await server.initialize()
        try await server.start()
        return server
    }

    private init(_ options: Options) throws {
        self.options = options
        command = try PostgresCommand()
        port = try FreePort.find()
        password = UUID().uuidString.lowercased()
        directory = "\(Self.root)/mpg-\(getpid())-\(port)"
    }

    /// Uses memory if there is plenty: a database has a thousand files, and creating and deleting them on a disk takes
    /// half of a short test's time.
    private static let root: String = {
        var memory = statvfs()
        let isLarge = statvfs("/dev/shm", &memory) == 0 && UInt64(memory.f_bavail) * UInt64(memory.f_frsize) > 8 << 30
        return isLarge ? "/dev/shm" : "/tmp"
    }()

    /// A libpq connection string for the Unix socket or TCP. Both require the password.
    public func connectionString(database: String = "postgres", overTCP: Bool = false) -> String {
        "host=\(overTCP ? "127.0.0.1" : directory) port=\(port) dbname=\(database) user=\(user) password=\(password)"
    }

    public func configuration(database: String = "postgres", overTCP: Bool = false) -> PostgresConfiguration {
        PostgresConfiguration(connectionString: connectionString(database: database, overTCP: overTCP))
    }

    /// Creates an empty database, or a copy of `template`, which must have no open connections. Returns its
    /// configuration.
    public func makeDatabase(template: String = "template0") async throws -> PostgresConfiguration {
        configuration(database: try await makeDatabaseNamed(template: template))
    }

    /// Creates a database like `makeDatabase` and returns its name.
    ///
    /// - Parameter roles: The only roles that may connect; empty allows all. Permissions on a database are not copied
    ///   with it.
    public func makeDatabaseNamed(template: String = "template0", for roles: [String] = []) async throws -> String {
        let name = "test_\(lastDatabase.wrappingAdd(1, ordering: .relaxed).newValue)"
        let database = try identifier(name)
        // Copying files is less work than copying pages through the write-ahead log.
        var statements: [PostgresQuery] = try [
            "CREATE DATABASE \(database) TEMPLATE \(identifier(template)) STRATEGY file_copy"
        ]
        if !roles.isEmpty { statements.append("REVOKE ALL ON DATABASE \(database) FROM PUBLIC") }
        for role in roles { try statements.append("GRANT CONNECT ON DATABASE \(database) TO \(identifier(role))") }
        try await execute(statements)
        return name
    }

    /// Drops a database and ends its sessions.
    public func dropDatabase(named name: String) async throws {
        try await execute(["DROP DATABASE IF EXISTS \(identifier(name)) WITH (FORCE)"])
    }

    private func identifier(_ name: String) throws -> PostgresIdentifier {
        guard let identifier = PostgresIdentifier(name) else {
            throw PostgresServerError(sentence: "not a valid database or role name: \(name)")
        }
        return identifier
    }

    private func execute(_ statements: [PostgresQuery]) async throws {
        var configuration = configuration()
        configuration.maximumConnections = 1
        configuration.useTestTimeouts()
        let client = PostgresClient(configuration: configuration, logger: Logger(label: "PostgresServer"))
        do {
            for statement in statements { try await client.execute(statement) }
        } catch {
            await client.close()
            throw error
        }
        await client.close()
    }
}

// MARK: - Starting and stopping

extension PostgresServer {
    public func start() async throws {
        try await command.run("pg_ctl", ["-D", data, "-l", "\(directory)/log", "-w", "-t", "180", "-s", "start"])
    }

    /// Ends all sessions and stops the server.
    public func stop() async throws {
        try await command.run("pg_ctl", ["-D", data, "-m", "fast", "-w", "-t", "180", "-s", "stop"])
    }

    public func restart() async throws {
        try await stop()
        try await start()
    }

    /// Sends SIGKILL to every process, similar to a power failure. `start()` recovers.
    public func kill() async throws {
        guard let postmaster else { return }
        let children = try String(contentsOfFile: "/proc/\(postmaster)/task/\(postmaster)/children", encoding: .utf8)
        let processes = [postmaster] + children.split(separator: " ").compactMap { Int32($0) }
        for process in processes { Glibc.kill(process, SIGKILL) }
        // A new postmaster refuses to start while an old process holds the shared memory.
        for process in processes {
            while Glibc.kill(process, 0) == 0, !isZombie(process) { try await Task.sleep(for: .milliseconds(5)) }
        }
        // In a container without an init the processes remain zombies, so the lock files still appear to be held.
        for file in ["\(data)/postmaster.pid", "\(directory)/.s.PGSQL.\(port).lock"] {
            try? FileManager.default.removeItem(atPath: file)
        }
    }

    /// Uses transaction numbers that are lost by a subsequent `kill()` and assigned again after recovery. All
    /// transactions are rolled back, and the processes that would gradually flush the write-ahead log are suspended
    /// until the kill. Do not commit anything in between: a synchronous commit would flush the log at once.
    ///
    /// - Returns: The last transaction number.
    public func spendTransactions(_ count: Int) async throws -> Int64 {
        var configuration = configuration()
        configuration.maximumConnections = 1
        configuration.useTestTimeouts()
        let client = PostgresClient(configuration: configuration, logger: Logger(label: "PostgresServer"))
        do {
            let writers: [Int32] = try await client.query(
                "SELECT pid FROM pg_stat_activity WHERE backend_type <> 'client backend'"
            ).map { try $0.decode(0) }
            for writer in writers { Glibc.kill(writer, SIGSTOP) }
            var last: Int64 = 0
            for _ in 0..<count {
                do {
                    try await client.withTransaction { transaction in
                        last = try await transaction.query("SELECT pg_current_xact_id()::text::bigint")[0].decode(0)
                        throw RolledBack()
                    }
                } catch is RolledBack {}
            }
            await client.close()
            return last
        } catch {
            await client.close()
            throw error
        }
    }

    private struct RolledBack: Error {}

    /// Restarts as a standby without a primary and promotes it immediately.
    public func takeOver() async throws {
        try await stop()
        try Data().write(to: URL(fileURLWithPath: "\(data)/standby.signal"))
        try command.giveToServer("\(data)/standby.signal")
        try await start()
        try await execute(["SELECT pg_promote()"])
    }

    private var data: String { "\(directory)/data" }

    private var postmaster: Int32? {
        let file = try? String(contentsOfFile: "\(data)/postmaster.pid", encoding: .utf8)
        return file?.split(separator: "\n").first.flatMap { Int32($0) }
    }

    private func isZombie(_ process: Int32) -> Bool {
        let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        return status?.contains(") Z ") ?? true
    }

    private func initialize() async throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        try removeAtExit([directory], cluster: data)
        try command.giveToServer(directory)
        let passwordFile = "\(directory)/password"
        try password.write(toFile: passwordFile, atomically: false, encoding: .utf8)
        try command.giveToServer(passwordFile)
        try await command.run(
            "initdb",
            [
                "-D", data, "-U", user, "-A", "scram-sha-256", "--pwfile", passwordFile, "-E", "UTF8", "--locale",
                "C.UTF-8", "--no-sync",
            ])
        try FileManager.default.removeItem(atPath: passwordFile)
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: "\(data)/postgresql.conf"))
        try file.seekToEnd()
        try file.write(contentsOf: Data(settings.map { "\($0.key) = '\($0.value)'\n" }.joined().utf8))
        try file.close()
    }

    private var settings: [String: String] {
        let settings = [
            "port": String(port), "listen_addresses": "127.0.0.1", "unix_socket_directories": directory,
            "jit": "off", "max_connections": String(options.maximumConnections), "fsync": options.fsync ? "on" : "off",
            "synchronous_commit": options.fsync ? "on" : "off", "full_page_writes": options.fsync ? "on" : "off",
            "shared_buffers": "64MB", "timezone": "UTC", "log_timezone": "UTC", "password_encryption": "scram-sha-256",
        ]
        return settings.merging(options.settings) { $1 }
    }
}

public struct PostgresServerError: Error, CustomStringConvertible {
    let sentence: String

    public var description: String { sentence }
}

extension PostgresConfiguration {
    /// Increases timeouts for many concurrent tests on a busy machine, where waiting for a connection must not fail a
    /// test.
    package mutating func useTestTimeouts() {
        connectTimeout = .seconds(30)
        waitForConnectionTimeout = .seconds(30)
        // Apps are created one at a time, so concurrent creations wait for a lock.
        lockTimeout = .seconds(30)
        queryTimeout = .seconds(120)
    }
}

private actor SharedServer {
    static let instance = SharedServer()

    private var task: Task<PostgresServer, any Error>?

    func server() async throws -> PostgresServer {
        let task = task ?? Task { try await PostgresServer.start() }
        self.task = task
        return try await task.value
    }
}
