import Foundation
import Glibc
import MartletTesting

/// A program started by a test in its own session.
///
/// Not Foundation's `Process`, which waits for every descendant, although a killed supervisor leaves its processes
/// behind.
struct RunningProgram: Sendable {
    let pid: pid_t

    /// - Parameter output: Files for its output, created or appended to.
    static func start(
        _ command: [String], environment: [String: String], output: URL, errors: URL
    ) throws -> RunningProgram {
        keepDescriptors()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output.path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errors.path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, newSession)

        let arguments = command.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var pid = pid_t()
        let status = posix_spawn(&pid, command[0], &actions, &attributes, arguments, variables)
        guard status == 0 else { throw Trouble("cannot start \(command[0]): \(String(cString: strerror(status)))") }
        return RunningProgram(pid: pid)
    }

    /// `POSIX_SPAWN_SETSID`, which the module map hides behind `_GNU_SOURCE`.
    private static let newSession: Int16 = 0x80

    /// Keeps the test runner's open descriptors from the program.
    private static func keepDescriptors() {
        for descriptor in Int32(3)..<256 where fcntl(descriptor, F_GETFD) >= 0 {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
    }

    func signal(_ number: Int32) {
        kill(pid, number)
    }

    /// Waits until it ends; returns the exit status, or 128 plus the signal's number. Call it once.
    func exitStatus(limit: Duration = .seconds(180)) async throws -> Int {
        var status: Int32 = 0
        try await eventually("process \(pid) has ended", within: limit) { waitpid(pid, &status, WNOHANG) != 0 }
        let signal = status & 0x7f
        return signal == 0 ? Int((status >> 8) & 0xff) : 128 + Int(signal)
    }

    /// False for zombies as well, because no one reaps orphans in a container without an init.
    static func isRunning(_ pid: pid_t) -> Bool {
        guard kill(pid, 0) == 0, let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else {
            return false
        }
        return !text.contains(") Z ")
    }
}

/// Martlet's programs, as built for these tests.
enum Programs {
    /// `MARTLET_PROGRAMS`, or the folder of the tests themselves, because a build puts both into one folder.
    static let folder: URL = {
        if let path = ProcessInfo.processInfo.environment["MARTLET_PROGRAMS"], !path.isEmpty {
            return URL(fileURLWithPath: path).standardizedFileURL
        }
        let own =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: own).deletingLastPathComponent()
    }()

    static func path(_ name: String) throws -> String {
        let path = folder.appending(path: name).path
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw Trouble("\(path) is not there: run swift build, or set MARTLET_PROGRAMS")
        }
        return path
    }

    struct Result: Sendable {
        var status: Int
        var output: String
        var errors: String
    }

    /// Runs a program to its end.
    static func run(
        _ name: String, _ arguments: [String] = [], environment: [String: String] = [:], limit: Duration = .seconds(180)
    ) async throws -> Result {
        let folder = try TemporaryFolder.make()
        defer { TemporaryFolder.remove(folder) }
        let (output, errors) = (folder.appending(path: "out"), folder.appending(path: "err"))
        let program = try RunningProgram.start(
            [try path(name)] + arguments, environment: Self.environment(adding: environment), output: output,
            errors: errors)
        let status: Int
        do {
            status = try await program.exitStatus(limit: limit)
        } catch {
            program.signal(SIGKILL)
            throw error
        }
        return Result(
            status: status, output: try String(contentsOf: output, encoding: .utf8),
            errors: try String(contentsOf: errors, encoding: .utf8))
    }

    /// This process's environment without Martlet's variables.
    static func environment(adding own: [String: String]) -> [String: String] {
        ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("MARTLET_") }.merging(own) { $1 }
    }
}

enum TemporaryFolder {
    static func make() throws -> URL {
        // Short because of the path of the UNIX socket; accessible to the user `postgres`, who must pass through.
        let folder = URL(fileURLWithPath: "/tmp/mit-\(getpid())-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
        return folder
    }

    static func remove(_ folder: URL) {
        try? FileManager.default.removeItem(at: folder)
    }
}

/// Why a test cannot continue.
struct Trouble: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
