import Foundation
import Glibc

/// A program run on input that may be hostile: under `prlimit`, in a process group of its own, with a clean environment and nothing
/// open but its output, and killed when its time is up.
struct LimitedProcess: Sendable {
    var cpuTimeInSeconds = 10
    var time: Duration = .seconds(20)
    var addressSpaceInBytes = 1 << 30
    var outputSizeInBytes = 16 << 20
    var environment: [String: String] = [:]

    /// How it ended, and the first 4 KiB of what it wrote to either output.
    struct Outcome: Sendable {
        var end: End
        var text: String
    }

    enum End: Sendable, Equatable {
        case exited(Int32)
        /// `SIGXCPU` and `SIGXFSZ`: by a limit.
        case killed(signal: Int32)
        /// Killed because time was up: perhaps its own fault, perhaps the machine was busy.
        case outOfTime
    }

    /// - Parameter directory: the working directory, and where its output is kept meanwhile.
    func run(_ program: String, _ arguments: [String], in directory: String) async throws -> Outcome {
        let output = directory + "/output"
        let command = [
            "/usr/bin/prlimit", "--cpu=\(cpuTimeInSeconds):\(cpuTimeInSeconds + 1)", "--as=\(addressSpaceInBytes)", "--fsize=\(outputSizeInBytes)",
            "--nofile=64", "--core=0", "--", "/usr/bin/env", "-C", directory, program,
        ]
        let child = try spawn(command + arguments, output: output)
        let end = await withTaskCancellationHandler {
            await self.end(of: child)
        } onCancel: {
            kill(-child, SIGKILL)
        }
        try Task.checkCancellation()
        let written = FileManager.default.contents(atPath: output) ?? Data()
        unlink(output)
        return Outcome(end: end, text: String(decoding: written.prefix(4_096), as: UTF8.self))
    }

    private func spawn(_ command: [String], output: String) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        _ = closeFrom?(&actions, 3)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Our threads block signals, and a limit ends only those who do not.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let variables = environment.merging(["PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"]) { own, _ in own }
        let arguments = command.map { strdup($0) } + [nil]
        let pairs = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + pairs { free(text) } }
        var child = pid_t()
        let status = posix_spawn(&child, command[0], &actions, &attributes, arguments, pairs)
        guard status == 0 else { throw FileError.unavailable(cause: "cannot start \(command[0]): error \(status)") }
        return child
    }

    private typealias CloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32

    /// `posix_spawn_file_actions_addclosefrom_np`, which the module map hides behind `_GNU_SOURCE`. Our own descriptors close by
    /// themselves; this is for those of others.
    private let closeFrom: CloseFrom? = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np").map {
        unsafeBitCast($0, to: CloseFrom.self)
    }

    /// Looks every few milliseconds: no thread waits, and nobody else's children are touched.
    private func end(of child: pid_t) async -> End {
        let start = ContinuousClock.now
        var status: Int32 = 0
        var isOutOfTime = false
        while waitpid(child, &status, WNOHANG) == 0 {
            if ContinuousClock.now - start > time {
                isOutOfTime = true
                kill(-child, SIGKILL)
            }
            // Not `Task.sleep`, which returns at once in a cancelled task.
            await withCheckedContinuation { continuation in
                DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(4)) { continuation.resume() }
            }
        }
        let signal = status & 0x7f
        if signal == 0 { return .exited((status >> 8) & 0xff) }
        return isOutOfTime ? .outOfTime : .killed(signal: signal)
    }
}
