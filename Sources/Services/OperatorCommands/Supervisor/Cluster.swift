import Foundation
import MartletCore

/// A PostgreSQL cluster of our own in the state folder.
///
/// PostgreSQL refuses to run as root. In that case it runs as the user `postgres`, and its files are in
/// `/var/lib/martlet` if that user cannot access the state folder.
struct Cluster: Sendable {
    static let database = "martlet"

    let dataFolder: URL
    let socketFolder: URL
    let port: Int
    let password: Secret
    private let binaries: URL

    init(state: URL, port: Int, password: Secret) throws {
        self.port = port
        self.password = password
        self.binaries = try Self.findBinaries()
        let mark = Self.mark(of: state)
        let isReachable = getuid() != 0 || Self.postgresUserReaches(state)
        dataFolder = isReachable ? state.appending(path: "postgres") : URL(fileURLWithPath: "/var/lib/martlet/\(mark)")
        // The path of a Unix socket has at most 107 bytes. Never use a folder that others can write to.
        let ownFolder = state.appending(path: "run/socket")
        socketFolder =
            getuid() == 0
            ? URL(fileURLWithPath: "/run/martlet/\(mark)")
            : ownFolder.path.utf8.count < 85 ? ownFolder : URL(fileURLWithPath: NSHomeDirectory() + "/.martlet-\(mark)")
    }

    /// A name for folders that belong to a state folder but are located elsewhere.
    static func mark(of state: URL) -> String { String(Credential.hexDigest(of: state.path).prefix(12)) }

    /// `postgresql://…` over TCP, as superuser.
    var superuserURL: String {
        password.withValue { "postgresql://postgres:\($0)@127.0.0.1:\(port)/\(Self.database)" }
    }

    /// A URL for the Unix socket, which costs less per query.
    func url(user: String, password: String) -> String {
        let host = socketFolder.path.replacing("/", with: "%2F")
        return "postgresql://\(user):\(password)@\(host):\(port)/\(Self.database)"
    }

    /// Creates the cluster if it does not exist.
    func initialize() throws {
        try makeFolder(socketFolder, mode: 0o711)
        if FileManager.default.fileExists(atPath: dataFolder.appending(path: "PG_VERSION").path) {
            guard let owner = getuid() == 0 ? getpwnam("postgres")?.pointee.pw_uid : getuid() else {
                throw UpError("the user postgres does not exist (apt-get install postgresql)")
            }
            return try StartChecks.checkDataFolder(dataFolder, owner: owner)
        }
        try makeFolder(dataFolder, mode: 0o700)
        let passwordFile = socketFolder.appending(path: "password")
        try PrivateFile.write(Data(password.withValue(\.utf8)), to: passwordFile)
        defer { try? FileManager.default.removeItem(at: passwordFile) }
        if getuid() == 0 { try run(["/bin/chown", "postgres", passwordFile.path]) }
        try run(
            asOwner([
                binaries.appending(path: "initdb").path, "--pgdata", dataFolder.path, "--username", "postgres",
                "--pwfile",
                passwordFile.path, "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C.UTF-8",
                "--data-checksums",
            ]))
    }

    /// The server's command line, to be run by a supervisor.
    var command: [String] {
        asOwner([
            binaries.appending(path: "postgres").path, "-D", dataFolder.path, "-k", socketFolder.path, "-p",
            String(port),
            "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200", "-c", "shared_buffers=256MB",
            "-c", "timezone=UTC", "-c", "log_min_error_statement=panic", "-c", "log_parameter_max_length_on_error=0",
            // Omits DETAIL, which contains the values that violated an index.
            "-c", "log_error_verbosity=terse",
        ])
    }

    private func asOwner(_ command: [String]) -> [String] {
        getuid() == 0
            ? ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] + command : command
    }

    private func makeFolder(_ folder: URL, mode: Int) throws {
        // In two steps, because intermediate folders get the same attributes, and the user `postgres` must be able to
        // pass through them.
        let parent = folder.deletingLastPathComponent()
        try FileManager.default.createDirectory(
            at: parent, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o711])
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: mode])
        if getuid() == 0 { try run(["/bin/chown", "postgres", folder.path]) }
    }

    private func run(_ command: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw UpError("\(command.first ?? "") failed") }
    }

    private static func findBinaries() throws -> URL {
        let root = URL(fileURLWithPath: "/usr/lib/postgresql")
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root.path)) ?? []
        guard let newest = versions.compactMap({ Int($0) }).max(), newest >= 15 else {
            throw UpError("PostgreSQL 15 or newer is not installed (apt-get install postgresql)")
        }
        return root.appending(path: "\(newest)/bin")
    }

    private static func postgresUserReaches(_ folder: URL) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        process.arguments = [
            "--reuid=postgres", "--regid=postgres", "--init-groups", "/usr/bin/test", "-x", folder.path,
        ]
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}

/// The reason why the server could not be started, as one sentence for the operator.
struct UpError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
