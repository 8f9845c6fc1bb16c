import Foundation
import Glibc

/// Starts programs in their own process group, with a clean environment and no open descriptors but input and
/// output.
enum Child {
    enum Input {
        case file(String)
        case descriptor(Int32)
    }

    enum Output {
        /// Created or truncated.
        case file(String)
        case descriptor(Int32)
    }

    enum Errors {
        /// Redirected to the output.
        case output
        case nowhere
    }

    /// - Throws: `FileError.unavailable` if the program cannot be started.
    static func spawn(
        _ command: [String], environment: [String: String], input: Input, output: Output, errors: Errors
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        switch input {
        case .file(let path): posix_spawn_file_actions_addopen(&actions, 0, path, O_RDONLY, 0)
        case .descriptor(let descriptor): posix_spawn_file_actions_adddup2(&actions, descriptor, 0)
        }
        switch output {
        case .file(let path): posix_spawn_file_actions_addopen(&actions, 1, path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        case .descriptor(let descriptor): posix_spawn_file_actions_adddup2(&actions, descriptor, 1)
        }
        switch errors {
        case .output: posix_spawn_file_actions_adddup2(&actions, 1, 2)
        case .nowhere: posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        }
        _ = closeFrom?(&actions, 3)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The child would inherit the signals that our threads block, and a blocked signal of a resource limit
        // (SIGXCPU) would not end it.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let variables = environment.merging(["PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"]) { own, _ in
            own
        }
        let arguments = command.map { strdup($0) } + [nil]
        let pairs = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + pairs { free(text) } }
        var child = pid_t()
        let status = posix_spawn(&child, command[0], &actions, &attributes, arguments, pairs)
        guard status == 0 else { throw FileError.unavailable(cause: "cannot start \(command[0]): error \(status)") }
        return child
    }

    private typealias CloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32

    /// `posix_spawn_file_actions_addclosefrom_np`, which the module map hides behind `_GNU_SOURCE`. Our own descriptors
    /// are close-on-exec; this is for those opened by other code.
    private static let closeFrom: CloseFrom? = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np").map {
        unsafeBitCast($0, to: CloseFrom.self)
    }
}
