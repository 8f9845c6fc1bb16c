import ArgumentParser
import Foundation

/// `martlet setup`: see deploy/debian/libexec/setup.
struct SetupCommand: ScriptCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Sets up and starts the server on this machine, from the answers to four questions or from a file.")
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

/// `martlet app backup`: see deploy/debian/libexec/app.
struct AppBackupCommand: ScriptCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Writes one app, with its rows and files, to an encrypted archive.")
    static let script = "app"
    static let words = ["backup"]

    @Argument(parsing: .captureForPassthrough)
    var arguments: [String] = []
}

/// `martlet app backups`
struct AppBackupsCommand: ScriptCommand {
    static let configuration = CommandConfiguration(
        commandName: "backups", abstract: "Lists, proves, schedules, cancels and deletes archives of apps.")
    static let script = "app"
    static let words = ["backups"]

    @Argument(parsing: .captureForPassthrough)
    var arguments: [String] = []
}

/// `martlet app verify`
struct AppVerifyCommand: ScriptCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Reads an app's archive and compares it with its checksums.")
    static let script = "app"
    static let words = ["verify"]

    @Argument(parsing: .captureForPassthrough)
    var arguments: [String] = []
}

/// `martlet app restore`
struct AppRestoreCommand: ScriptCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Brings an app, or one of its environments, back from its archive.")
    static let script = "app"
    static let words = ["restore"]

    @Argument(parsing: .captureForPassthrough)
    var arguments: [String] = []
}

/// `martlet app delete`
struct AppDeleteCommand: ScriptCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Deletes an app and all its data for good, after a last archive.")
    static let script = "app"
    static let words = ["delete"]

    @Argument(parsing: .captureForPassthrough)
    var arguments: [String] = []
}

/// A command that a shell script of the Debian package carries out, because all it does is run other programs.
protocol ScriptCommand: ParsableCommand {
    /// The file in the folder `libexec` beside the programs' folder.
    static var script: String { get }
    /// The script's first arguments.
    static var words: [String] { get }
    var arguments: [String] { get }
}

extension ScriptCommand {
    static var words: [String] { [] }

    /// Replaces this process with the script.
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
        var strings = ([path] + Self.words + arguments).map { strdup($0) } + [nil]
        execv(path, &strings)
        throw ValidationError("could not run \(path): \(String(cString: strerror(errno)))")
    }
}
