import ArgumentParser
import Foundation

/// `martlet setup`: see deploy/debian/libexec/setup.
struct SetupCommand: ScriptCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup", abstract: "Sets up and starts the server on this machine, by four questions or a file.")
    static let script = "setup"

    @Argument(parsing: .captureForPassthrough)
    var arguments: [String] = []
}

/// `martlet backup`: see deploy/debian/libexec/backup.
struct BackupCommand: ScriptCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Backs up the whole server, and proves that backups can be restored.")
    static let script = "backup"

    @Argument(parsing: .captureForPassthrough)
    var arguments: [String] = []
}

/// `martlet restore`: see deploy/debian/libexec/restore.
struct RestoreCommand: ScriptCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Restores the whole server from its backups, up to now or to a point in time."
    )
    static let script = "restore"

    @Argument(parsing: .captureForPassthrough)
    var arguments: [String] = []
}

/// A command that a shell script of the Debian package carries out, because all it does is run other programs.
protocol ScriptCommand: ParsableCommand {
    /// The file in the folder `libexec` beside the programs' folder.
    static var script: String { get }
    var arguments: [String] { get }
}

extension ScriptCommand {
    /// Replaces this process by the script.
    func run() throws {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let folder = URL(fileURLWithPath: program).deletingLastPathComponent().deletingLastPathComponent()
        let path = folder.appending(path: "libexec/\(Self.script)").path
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw ValidationError("this command needs the Debian package of Martlet; there is no \(path)")
        }
        // Threads of Swift's pool block signals, and the script would inherit that: it could not be stopped.
        var signals = sigset_t()
        sigemptyset(&signals)
        pthread_sigmask(SIG_SETMASK, &signals, nil)
        var strings = ([path] + arguments).map { strdup($0) } + [nil]
        execv(path, &strings)
        throw ValidationError("could not run \(path): \(String(cString: strerror(errno)))")
    }
}
