import Foundation
import MartletCore

/// A PostgreSQL cluster of our own, in the state folder.
///
/// PostgreSQL refuses to run as root; then it runs as the user `postgres`, and its files stand in `/var/lib/martlet` where
/// that user cannot reach the state folder.
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
        // The path of a UNIX socket has at most 107 bytes. Never in a folder where others may write.
        let ownFolder = state.appending(path: "run/socket")
        socketFolder =
            getuid() == 0
            ? URL(fileURLWithPath: "/run/martlet/\(mark)")
            : ownFolder.path.utf8.count < 85 ? ownFolder : URL(fileURLWithPath: NSHomeDirectory() + "/.martlet-\(mark)")
    }

    /// Names folders of a state folder that are elsewhere.
    static func mark(of state: URL) -> String { String(Credential.hexDigest(of: state.path).prefix(12)) }

    /// `postgresql://…` over TCP, as superuser.
    var superuserURL: String {
        password.withValue { "postgresql://postgres:\($0)@127.0.0.1:\(port)/\(Self.database)" }
    }

    /// Over the UNIX socket, which costs less per query.
    func url(user: String, password: String) -> String {
        let host = socketFolder.path.replacing("/", with: "%2F")
        return "postgresql://\(user):\(password)@\(host):\(port)/\(Self.database)"
    }

    /// Makes the cluster when it is not there.
    func initialize() throws {
        try makeFolder(socketFolder, mode: 0o711)
        if FileManager.default.fileExists(atPath: dataFolder.appending(path: "PG_VERSION").path) {
            guard let owner = getuid() == 0 ? getpwnam("postgres")?.pointee.pw_uid : getuid() else {
                throw UpError("there is no user postgres (apt-get install postgresql)")
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
                binaries.appending(path: "initdb").path, "--pgdata", dataFolder.path, "--username", "postgres", "--pwfile",
                passwordFile.path, "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C.UTF-8", "--data-checksums",
            ]))
    }

    /// The command line of the server, for a supervisor to run.
    var command: [String] {
        asOwner([
            binaries.appending(path: "postgres").path, "-D", dataFolder.path, "-k", socketFolder.path, "-p", String(port),
            "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200", "-c", "shared_buffers=256MB",
            "-c", "timezone=UTC", "-c", "log_min_error_statement=panic", "-c", "log_parameter_max_length_on_error=0",
            // Without DETAIL, which quotes the values of a violated index.
            "-c", "log_error_verbosity=terse",
        ])
    }

    private func asOwner(_ command: [String]) -> [String] {
        getuid() == 0 ? ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] + command : command
    }

    private func makeFolder(_ folder: URL, mode: Int) throws {
        // In two steps: what is made on the way gets the attributes too, and the user `postgres` must pass through.
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
        process.arguments = ["--reuid=postgres", "--regid=postgres", "--init-groups", "/usr/bin/test", "-x", folder.path]
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}

/// Why a server could not be started, as one sentence for the person who tried.
struct UpError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
