import ArgumentParser
import AuthService
import Foundation
import Logging
import MartletCore
import MartletPostgres
import ServiceLifecycle
import UnixSignals

/// `martlet up`
struct UpCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "up", abstract: "Starts a complete server on this machine and keeps it running until SIGTERM.",
        discussion: """
            PostgreSQL is a cluster of its own in the state folder, unless MARTLET_DATABASE_URL names one (as superuser). \
            MARTLET_PORT is the public port (8080), MARTLET_HOST its address (127.0.0.1). MARTLET_GATEWAY_… reaches the \
            gateway as MARTLET_….
            """)

    @Option(help: "Folder for data, secrets and logs.")
    var state = ".martlet"

    @Option(help: "Folder of the other programs. Default: the folder of this program.")
    var programs: String?

    @Option(help: "The gateway's route file.")
    var routes = "gateway/routes.json"

    @Option(help: "Copies of each service, to try out several. With more than one there is also a second gateway.")
    var copies = 1

    @Option(help: "User name of the first staff member, an administrator. Used when the first app is created.")
    var staffUser = "admin"

    func run() async throws {
        do {
            try await start()
        } catch {
            FileHandle.standardError.write(Data("martlet up: \(error)\n".utf8))
            throw ExitCode(1)
        }
    }

    private func start() async throws {
        LoggingSystem.bootstrap { StreamLogHandler.standardError(label: $0) }
        let logger = Logger(label: "martlet")
        let folder = URL(fileURLWithPath: state).standardizedFileURL
        try makeFolders(folder)
        let lock = try lockState(folder)
        defer { close(lock) }
        try await LeftoverProcesses(state: folder, logger: logger).stop()
        let environment = ProcessInfo.processInfo.environment
        let routes = URL(fileURLWithPath: routes).standardizedFileURL
        try StartChecks.checkFiles(routes: routes, programs: programFolder)
        try await StartChecks.checkAddress(
            host: environment["MARTLET_GATEWAY_HTTP_HOST"] ?? environment["MARTLET_HOST"] ?? "127.0.0.1",
            port: LocalServer.port(environment))
        let server = try LocalServer(
            state: folder, programs: programFolder, routes: routes, copies: copies, staffUser: staffUser,
            environment: environment, logger: logger)
        let group = ServiceGroup(
            configuration: .init(
                services: server.services.map { .init(service: $0) }, gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger))
        try await group.run()
    }

    private var programFolder: URL {
        if let programs { return URL(fileURLWithPath: programs).standardizedFileURL }
        let link =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: link).deletingLastPathComponent()
    }

    private func makeFolders(_ folder: URL) throws {
        // Created first and accessible: with the mode of `log`, the user `postgres` could not reach its data.
        try StartChecks.makeFolder(folder, mode: 0o755)
        for (name, mode) in [("log", 0o700), ("run", 0o755), ("gateway", 0o700)] {
            try StartChecks.makeFolder(folder.appending(path: name), mode: mode)
        }
    }

    /// Prevents two supervisors from using the same state folder. The lock is released when the process ends.
    private func lockState(_ folder: URL) throws -> Int32 {
        let handle = open(folder.appending(path: "run/supervisor.pid").path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard handle >= 0, flock(handle, LOCK_EX | LOCK_NB) == 0 else {
            throw UpError("a server is already running in \(folder.path) (stop it with deploy/down)")
        }
        ftruncate(handle, 0)
        let text = "\(getpid())\n"
        _ = write(handle, text, text.utf8.count)
        return handle
    }
}
