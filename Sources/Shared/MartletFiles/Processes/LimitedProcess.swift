import Foundation
import Glibc

/// Runs a program on potentially hostile input: under `prlimit`, in its own process group, with a clean
/// environment and no open descriptors but its input and output. It is killed when its time is up.
public struct LimitedProcess: Sendable {
    public var limits = ProcessLimits()
    public var time: Duration = .seconds(20)
    /// How much of its output is returned.
    public var keptOutputInBytes = 4 << 10
    public var environment: [String: String] = [:]

    public init() {}

    /// How the program ended, and the beginning of its combined output.
    public struct Outcome: Sendable {
        public var end: End
        public var text: String
    }

    public enum End: Sendable, Equatable {
        case exited(Int32)
        /// `SIGXCPU` and `SIGXFSZ` mean that a limit was reached.
        case killed(signal: Int32)
        /// Killed because the time was up; the cause may be the program or a busy machine.
        case outOfTime
    }

    /// - Parameters:
    ///   - input: The file to read from; nil for empty input.
    ///   - directory: The working directory, which also holds the output temporarily.
    public func run(_ program: String, _ arguments: [String], input: String? = nil, in directory: String) async throws
        -> Outcome
    {
        let output = directory + "/output"
        let command = limits.command + ["/usr/bin/env", "-C", directory, program] + arguments
        let child = try Child.spawn(
            command, environment: environment, input: .file(input ?? "/dev/null"), output: .file(output),
            errors: .output)
        let end = await withTaskCancellationHandler {
            await self.end(of: child)
        } onCancel: {
            kill(-child, SIGKILL)
        }
        defer { unlink(output) }
        try Task.checkCancellation()
        guard let written = FileHandle(forReadingAtPath: output) else { return Outcome(end: end, text: "") }
        let kept = try written.read(upToCount: keptOutputInBytes) ?? Data()
        return Outcome(end: end, text: String(decoding: kept, as: UTF8.self))
    }

    /// Polls every few milliseconds, so that no thread blocks and other children are not affected.
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
