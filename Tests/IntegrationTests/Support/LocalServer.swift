import Foundation
import Glibc
import MartletCore
import MartletPostgres
import MartletTesting
import NIOCore
import Synchronization
import Testing

/// A whole server as run by `martlet up`: PostgreSQL and the six processes, or several copies of each (`Copies`), in a
/// folder of its own under `/tmp`.
final class LocalServer: Sendable {
    static let processNames = ["auth", "storage", "config", "analytics", "notifications", "gateway"].flatMap(Copies.of)

    let folder: URL
    let state: URL
    /// A copy of `gateway/routes.json` that a test may change.
    let routes: URL
    let port: Int
    private let run: Mutex<(supervisor: RunningProgram, connection: Connection)>
    /// Credentials created by tests, none of which may appear in a log.
    private let madeSecrets = Mutex<[String]>([])

    /// Runs `body` against a new server, stops it, and checks that its logs contain no secrets.
    static func with(
        environment: [String: String] = [:], _ body: (LocalServer) async throws -> Void
    ) async throws {
        let server = try await start(environment: environment)
        do {
            try await body(server)
            try await server.stop()
        } catch {
            printLogs(server.state)
            server.abandon()
            throw error
        }
        #expect(try server.secretsInLogs() == [])
        server.remove()
    }

    /// Starts a server with an empty state; returns when it is ready.
    static func start(environment: [String: String] = [:]) async throws -> LocalServer {
        let folder = try TemporaryFolder.make()
        let state = folder.appending(path: "state")
        try removeAtExit(
            [folder.path, socketFolder(state)], cluster: state.appending(path: "postgres").path,
            processes: (["supervisor"] + processNames).map { state.appending(path: "run/\($0).pid").path })
        let routes = folder.appending(path: "routes.json")
        try FileManager.default.createDirectory(at: state.appending(path: "log"), withIntermediateDirectories: true)
        try FileManager.default.copyItem(at: Repository.routes, to: routes)
        let port = try FreePort.find()
        let supervisor = try launch(folder, port: port, environment: environment)
        do {
            var connection = try await waitUntilReady(supervisor, state)
            // The public address that a test sets leads nowhere.
            if environment["MARTLET_PUBLIC_URL"] != nil { connection.url = "http://127.0.0.1:\(port)" }
            Gateways.register(Copies.of("gateway").compactMap { connection.services[$0] })
            return LocalServer(folder: folder, state: state, routes: routes, port: port, run: (supervisor, connection))
        } catch {
            printLogs(state)
            supervisor.signal(SIGKILL)
            throw error
        }
    }

    private init(folder: URL, state: URL, routes: URL, port: Int, run: (RunningProgram, Connection)) {
        self.folder = folder
        self.state = state
        self.routes = routes
        self.port = port
        self.run = Mutex(run)
    }

    var connection: Connection { run.withLock { $0.connection } }
    var supervisor: RunningProgram { run.withLock { $0.supervisor } }

    /// Starts it again with its stored state.
    func startAgain() async throws {
        let supervisor = try Self.launch(folder, port: port, environment: [:])
        let connection = try await Self.waitUntilReady(supervisor, state)
        Gateways.register(Copies.of("gateway").compactMap { connection.services[$0] })
        run.withLock { $0 = (supervisor, connection) }
    }

    /// Stops it like `deploy/down`.
    func stop(limit: Duration = .seconds(180)) async throws {
        supervisor.signal(SIGTERM)
        let status = try await supervisor.exitStatus(limit: limit)
        guard status == 0 else { throw Trouble("martlet up ended with status \(status)") }
    }

    func record(secret: String) {
        madeSecrets.withLock { $0.append(secret) }
    }

    private static func launch(_ folder: URL, port: Int, environment: [String: String]) throws -> RunningProgram {
        let state = folder.appending(path: "state").path
        // Processes left by a killed supervisor.
        try? FileManager.default.removeItem(atPath: state + "/run/ready")
        let command = [
            try Programs.path("martlet"), "up", "--state", state, "--programs", Programs.folder.path, "--routes",
            folder.appending(path: "routes.json").path, "--copies", String(Copies.count),
        ]
        var environment = Programs.environment(adding: environment)
        environment["MARTLET_PORT"] = String(port)
        return try RunningProgram.start(
            command, environment: environment, output: folder.appending(path: "announcement"),
            errors: URL(fileURLWithPath: state + "/log/up.log"))
    }

    private static func waitUntilReady(_ supervisor: RunningProgram, _ state: URL) async throws -> Connection {
        let ready = state.appending(path: "run/ready").path
        try await eventually("the server is ready", within: .seconds(180)) {
            guard RunningProgram.isRunning(supervisor.pid) else { throw Trouble("martlet up ended") }
            return FileManager.default.fileExists(atPath: ready)
        }
        return try Connection.read(from: state.appending(path: "connection.json"))
    }
}

// MARK: - Processes

extension LocalServer {
    func pid(of name: String) throws -> pid_t {
        let text = try String(contentsOf: state.appending(path: "run/\(name).pid"), encoding: .utf8)
        guard let pid = pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw Trouble("no pid of \(name)")
        }
        return pid
    }

    /// Sends a signal to a process, or to all its copies.
    func signal(_ name: String, _ number: Int32) throws {
        for pid in try Copies.of(name).map({ try pid(of: $0) }) { kill(pid, number) }
    }

    /// Sends a signal to a process, or to all its copies, and waits until the supervisor has replaced them with ones
    /// that are ready.
    func restart(_ name: String, by number: Int32 = SIGKILL) async throws {
        let old = try Copies.of(name).map { (name: $0, pid: try pid(of: $0)) }
        for process in old { kill(process.pid, number) }
        for process in old {
            try await eventually("\(process.name) is ready again", within: .seconds(180)) {
                guard let new = try? pid(of: process.name), new != process.pid, RunningProgram.isRunning(new) else {
                    return false
                }
                return process.name == "postgres" ? await databaseAnswers() : await isReady(process.name)
            }
        }
    }

    /// Runs `body` while the supervisor is stopped, so that killed processes stay dead.
    func withoutSupervisor(_ body: () async throws -> Void) async throws {
        supervisor.signal(SIGSTOP)
        defer { supervisor.signal(SIGCONT) }
        try await body()
    }

    func isReady(_ name: String) async -> Bool {
        guard let address = connection.internalServices[name] else { return false }
        return (try? await Client.send("GET", address + "/health/ready", limit: .seconds(20)))?.status == 200
    }

    func isEverythingReady() async -> Bool {
        for name in Self.processNames where !(await isReady(name)) { return false }
        return true
    }

    private func databaseAnswers() async -> Bool {
        (try? await withDatabase { try await $0.execute("SELECT 1", timeout: .seconds(20)) }) != nil
    }

    /// Lends a client of the superuser.
    func withDatabase<T: Sendable>(_ body: (PostgresClient) async throws -> T) async throws -> T {
        var configuration = PostgresConfiguration(connectionString: connection.databaseURL)
        configuration.maximumConnections = 1
        let client = PostgresClient(configuration: configuration, logger: .silent)
        do {
            let value = try await body(client)
            await client.close()
            return value
        } catch {
            await client.close()
            throw error
        }
    }

    /// The environment a process was started with.
    func environment(of name: String) throws -> [String: String] {
        let data = try Data(contentsOf: URL(fileURLWithPath: "/proc/\(try pid(of: name))/environ"))
        let lines = data.split(separator: 0).map {
            String(decoding: $0, as: UTF8.self).split(separator: "=", maxSplits: 1)
        }
        return Dictionary(lines.filter { $0.count == 2 }.map { (String($0[0]), String($0[1])) }) { $1 }
    }
}

// MARK: - Logs

extension LocalServer {
    /// Files in the log folder that contain a credential, a password or the internal secret, as `file: which`.
    func secretsInLogs() throws -> [String] {
        let secrets = try allSecrets()
        var found: [String] = []
        let folder = state.appending(path: "log")
        for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
            let text = try Data(contentsOf: file)
            for (name, secret) in secrets where text.range(of: Data(secret.utf8)) != nil {
                found.append("\(file.lastPathComponent): \(name)")
            }
        }
        return found
    }

    private func allSecrets() throws -> [(name: String, text: String)] {
        let connection = connection
        let stored = try JSONDecoder().decode(
            StoredSecrets.self, from: Data(contentsOf: state.appending(path: "secrets.json")))
        let known = [
            ("app key", connection.appKey), ("secret", connection.secret), ("master key", connection.masterKey),
            ("test app key", connection.testAppKey), ("ingest key", connection.ingestKey),
            ("evaluation key", connection.evaluationKey), ("staff password", connection.staffPassword),
            ("internal secret", stored.internalSecret), ("superuser password", stored.superuserPassword),
        ]
        return known + stored.servicePasswords.map { ("password of \($0.key)", $0.value) }
            + madeSecrets.withLock { $0 }.map { ("a credential made by a test", $0) }
    }

    private struct StoredSecrets: Decodable {
        var internalSecret: String
        var superuserPassword: String
        var servicePasswords: [String: String]
    }

    /// Lines of a process's log, or of those of all its copies, that contain `text`.
    func lines(of name: String, containing text: String) throws -> [String] {
        try Copies.of(name).flatMap { name in
            let log = try String(contentsOf: state.appending(path: "log/\(name).log"), encoding: .utf8)
            return log.split(separator: "\n").filter { $0.contains(text) }.map(String.init)
        }
    }

    fileprivate static func printLogs(_ state: URL) {
        for name in processNames + ["postgres", "up"] {
            let text = (try? String(contentsOf: state.appending(path: "log/\(name).log"), encoding: .utf8)) ?? ""
            print("--- \(name): " + text.split(separator: "\n").suffix(5).joined(separator: "\n"))
        }
    }
}

// MARK: - The end

extension LocalServer {
    /// Folder of the cluster's UNIX socket.
    private static func socketFolder(_ state: URL) -> String {
        "/tmp/martlet-" + Credential.hexDigest(of: state.path).prefix(12)
    }

    fileprivate func remove() {
        TemporaryFolder.remove(folder)
        TemporaryFolder.remove(URL(fileURLWithPath: Self.socketFolder(state)))
    }

    /// Leaves the rest to `removeAtExit`.
    fileprivate func abandon() {
        supervisor.signal(SIGCONT)
        supervisor.signal(SIGTERM)
    }
}

/// The checkout these tests were built from.
enum Repository {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    static let routes = root.appending(path: "gateway/routes.json")
}

// MARK: - One server for a suite

/// One server for all tests of a suite, in `LocalServer.current`.
struct LocalServerTrait: SuiteTrait, TestScoping {
    var environment: [String: String] = [:]

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void)
        async throws
    {
        try await LocalServer.with(environment: environment) { server in
            try await LocalServer.$held.withValue(server) { try await function() }
        }
    }
}

extension Trait where Self == LocalServerTrait {
    static var localServer: Self { LocalServerTrait() }

    static func localServer(environment: [String: String]) -> Self { LocalServerTrait(environment: environment) }
}

extension LocalServer {
    @TaskLocal fileprivate static var held: LocalServer?

    /// The suite's server, provided by its trait `.localServer`.
    static var current: LocalServer {
        get throws {
            guard let held else { throw Trouble("the suite lacks the trait .localServer") }
            return held
        }
    }
}
