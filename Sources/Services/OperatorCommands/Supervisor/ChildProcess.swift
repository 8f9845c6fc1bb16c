import Foundation
import Logging
import ServiceLifecycle
import Synchronization

/// Keeps a process running until shutdown: restarts it after it ends, with a delay that grows from 0.2 s to 5 s.
final class ChildProcess: Service {
    private static let stopGrace: Duration = .seconds(30)
    /// A process that has run for longer than this counts as started successfully.
    private static let longStart: Duration = .seconds(10)
    private static let maximumFailedStarts = 5
    /// Serializes starts. Foundation detects the end of a process when the process's side of a socket closes. Another
    /// process started at the same moment could inherit that side and keep it open.
    private static let start = Mutex<Void>(())

    let name: String
    private let command: [String]
    private let environment: [String: String]
    private let log: URL
    private let pidFile: URL
    private let logger: Logger
    private let stopSignal: Int32

    /// SIGINT requests PostgreSQL's fast shutdown; SIGTERM would wait for clients.
    static func stopSignal(of name: String) -> Int32 { name == "postgres" ? SIGINT : SIGTERM }

    init(name: String, command: [String], environment: [String: String], state: URL, logger: Logger) {
        self.name = name
        self.command = command
        self.environment = environment
        self.log = state.appending(path: "log/\(name).log")
        self.pidFile = state.appending(path: "run/\(name).pid")
        self.logger = logger
        self.stopSignal = Self.stopSignal(of: name)
    }

    func run() async throws {
        var pause: Duration = .milliseconds(200)
        var failedStarts = 0
        while !Task.isShuttingDownGracefully && !Task.isCancelled {
            let start = ContinuousClock.now
            let (status, wasKilled) = try await runOnce()
            if Task.isShuttingDownGracefully || Task.isCancelled { break }
            logger.warning(
                "A process ended unexpectedly; restarting it unless it keeps failing.",
                metadata: ["process.name": "\(name)", "process.status": "\(status)"])
            if ContinuousClock.now - start > Self.longStart {
                (pause, failedStarts) = (.milliseconds(200), .min)
            } else if !wasKilled {
                failedStarts += 1
            }
            // A process that has started successfully once is restarted indefinitely. A process that never has would
            // fail again.
            if failedStarts == Self.maximumFailedStarts {
                throw UpError("\(name) does not start: \(LastLine.of(log) ?? "it ended with the status \(status)")")
            }
            await cancelWhenGracefulShutdown { [pause] in try? await Task.sleep(for: pause) }
            pause = min(pause * 2, .seconds(5))
        }
        try? FileManager.default.removeItem(at: pidFile)
    }

    /// A process killed from outside, by a person or because of lack of memory, did not fail to start.
    private typealias End = (status: Int32, wasKilled: Bool)

    /// Runs the process to its end. On shutdown, sends the process its stop signal and kills it after `stopGrace`.
    private func runOnce() async throws -> End {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        let output = try logHandle()
        process.standardOutput = output
        process.standardError = output
        return await withGracefulShutdownHandler {
            await withTaskCancellationHandler {
                await end(of: process)
            } onCancel: {
                self.stop(process)
            }
        } onGracefulShutdown: {
            self.stop(process)
        }
    }

    /// Starts the process and returns its status when it ends, or -1 if it could not be started.
    private func end(of process: Process) async -> End {
        await withCheckedContinuation { continuation in
            process.terminationHandler = {
                continuation.resume(
                    returning: (
                        $0.terminationStatus, $0.terminationReason == .uncaughtSignal && $0.terminationStatus == SIGKILL
                    ))
            }
            do {
                try Self.start.withLock { _ in try process.run() }
            } catch {
                process.terminationHandler = nil
                logger.error(
                    "Could not start a process.", metadata: ["process.name": "\(name)", "error.cause": "\(error)"])
                return continuation.resume(returning: (-1, false))
            }
            try? Data("\(process.processIdentifier)\n".utf8).write(to: pidFile)
            // Shutdown may have been requested before the process existed.
            if Task.isCancelled || Task.isShuttingDownGracefully { stop(process) }
        }
    }

    private func stop(_ process: Process) {
        guard process.isRunning else { return }
        let pid = process.processIdentifier
        kill(pid, stopSignal)
        Task.detached {
            try? await Task.sleep(for: Self.stopGrace)
            if process.isRunning { kill(pid, SIGKILL) }
        }
    }

    private func logHandle() throws -> FileHandle {
        if !FileManager.default.fileExists(atPath: log.path) {
            _ = FileManager.default.createFile(atPath: log.path, contents: nil, attributes: [.posixPermissions: 0o600])
        }
        // Opened for appending, so that `LogRotation` can truncate the file while the process writes.
        let handle = open(log.path, O_WRONLY | O_APPEND | O_CLOEXEC)
        guard handle >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        return FileHandle(fileDescriptor: handle, closeOnDealloc: true)
    }
}
