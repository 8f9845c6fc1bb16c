import Foundation
import Logging
import ServiceLifecycle
import Synchronization

/// A process that is kept running: started again when it ends, after 0.2 s at first and 5 s at most, until shutdown.
final class ChildProcess: Service {
    private static let stopGrace: Duration = .seconds(30)
    /// One start at a time: Foundation learns of a process's end when its side of a socket closes, and a sibling started at
    /// the same moment could inherit that side and keep it open.
    private static let start = Mutex<Void>(())

    let name: String
    private let command: [String]
    private let environment: [String: String]
    private let log: URL
    private let pidFile: URL
    private let logger: Logger
    private let stopSignal: Int32

    /// - Parameter stopSignal: SIGINT is PostgreSQL's fast shutdown; SIGTERM would wait for clients.
    init(
        name: String, command: [String], environment: [String: String], state: URL, logger: Logger,
        stopSignal: Int32 = SIGTERM
    ) {
        self.name = name
        self.command = command
        self.environment = environment
        self.log = state.appending(path: "log/\(name).log")
        self.pidFile = state.appending(path: "run/\(name).pid")
        self.logger = logger
        self.stopSignal = stopSignal
    }

    func run() async throws {
        try stopLeftover()
        var pause: Duration = .milliseconds(200)
        while !Task.isShuttingDownGracefully && !Task.isCancelled {
            let start = ContinuousClock.now
            let status = try await runOnce()
            if Task.isShuttingDownGracefully || Task.isCancelled { break }
            logger.warning("process ended", metadata: ["process.name": "\(name)", "process.status": "\(status)"])
            if ContinuousClock.now - start > .seconds(10) { pause = .milliseconds(200) }
            await cancelWhenGracefulShutdown { [pause] in try? await Task.sleep(for: pause) }
            pause = min(pause * 2, .seconds(5))
        }
        try? FileManager.default.removeItem(at: pidFile)
    }

    /// Runs it to its end; on shutdown asks it to stop, and kills it after `stopGrace`.
    private func runOnce() async throws -> Int32 {
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

    /// Starts the process and returns its status when it has ended, or -1 when it could not be started.
    private func end(of process: Process) async -> Int32 {
        await withCheckedContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try Self.start.withLock { _ in try process.run() }
            } catch {
                process.terminationHandler = nil
                logger.error("process not started", metadata: ["process.name": "\(name)", "error.cause": "\(error)"])
                return continuation.resume(returning: -1)
            }
            try? Data("\(process.processIdentifier)\n".utf8).write(to: pidFile)
            // Shutdown may have come before there was anybody to signal.
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

    /// A process of an earlier supervisor that was killed, and left this one behind.
    private func stopLeftover() throws {
        guard let text = try? String(contentsOf: pidFile, encoding: .utf8), let pid = Int32(text.dropLast()), pid > 1,
            let line = try? String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8),
            let program = command.last(where: { $0.hasPrefix("/") && line.contains($0) })
        else { return }
        logger.warning("stopping a leftover", metadata: ["process.name": "\(name)", "process.program": "\(program)"])
        kill(pid, stopSignal)
        for _ in 0..<100 where kill(pid, 0) == 0 { usleep(100_000) }
        if kill(pid, 0) == 0 { kill(pid, SIGKILL) }
    }

    private func logHandle() throws -> FileHandle {
        if !FileManager.default.fileExists(atPath: log.path) {
            _ = FileManager.default.createFile(atPath: log.path, contents: nil, attributes: [.posixPermissions: 0o600])
        }
        // Appending, so that the file can be cut off under the process (`LogRotation`).
        let handle = open(log.path, O_WRONLY | O_APPEND | O_CLOEXEC)
        guard handle >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        return FileHandle(fileDescriptor: handle, closeOnDealloc: true)
    }
}
