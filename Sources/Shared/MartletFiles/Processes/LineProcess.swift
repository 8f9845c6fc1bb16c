import Foundation
import Glibc
import Synchronization

/// A long-running program that answers each line of input with one line: under limits, in its own process group,
/// with a clean environment and no open descriptors but its connection to us.
///
/// After a failure the program cannot be used any more. It is killed when the last reference is released. When this
/// process ends, the program's input closes, so it ends by itself.
public final class LineProcess: Sendable {
    public enum Failure: Error, Sendable, Equatable {
        /// The process ended, perhaps because of a limit.
        case ended
        case outOfTime
        /// The output exceeded the limit.
        case tooMuch
        /// The process wrote more lines than expected.
        case outOfStep
    }

    private let socket: Int32
    /// Nil after the process was ended, because its number may then belong to another.
    private let child: Mutex<pid_t?>
    private let queue = DispatchQueue(label: "martlet.line-process")

    /// - Parameter directory: The working directory.
    /// - Throws: `FileError.unavailable`.
    public init(
        _ program: String, _ arguments: [String], limits: ProcessLimits, environment: [String: String] = [:],
        in directory: String
    ) throws {
        // A socket rather than a pipe, because it can be written to without SIGPIPE when the other end is closed.
        var ends: [Int32] = [-1, -1]
        guard
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends)
                == 0
        else {
            throw FileError.system("socketpair")
        }
        defer { close(ends[1]) }
        // The program's end must block, as programs expect.
        _ = fcntl(ends[1], F_SETFL, 0)
        do {
            let command = limits.command + ["/usr/bin/env", "-C", directory, program] + arguments
            child = Mutex(
                try Child.spawn(
                    command, environment: environment, input: .descriptor(ends[1]), output: .descriptor(ends[1]),
                    errors: .nowhere))
        } catch {
            close(ends[0])
            throw error
        }
        socket = ends[0]
    }

    deinit {
        end()
        close(socket)
    }

    /// Sends lines, which must not contain line ends, and reads the same number of lines. One exchange at a time.
    ///
    /// - Parameter limitInBytes: The maximum size of the output.
    /// - Throws: `Failure`, after ending the process.
    public func exchange(_ lines: [String], within time: Duration, upTo limitInBytes: Int = 8 << 20) async throws
        -> [String]
    {
        let input = Array((lines.joined(separator: "\n") + "\n").utf8)
        let deadline = ContinuousClock.now + time
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                queue.async {
                    continuation.resume(
                        with: Result {
                            do {
                                return try self.sendAndReceive(input, lines.count, until: deadline, limitInBytes)
                            } catch {
                                self.end()
                                throw error
                            }
                        })
                }
            }
        } onCancel: {
            end()
        }
    }

    /// Kills the process; does nothing if it was already ended.
    public func end() {
        child.withLock { child in
            guard let number = child else { return }
            kill(-number, SIGKILL)
            var status: Int32 = 0
            while waitpid(number, &status, 0) < 0, errno == EINTR {}
            child = nil
        }
    }

    private func sendAndReceive(_ input: [UInt8], _ count: Int, until deadline: ContinuousClock.Instant, _ limit: Int)
        throws(Failure) -> [String]
    {
        // Output from before the end may still be in the socket.
        guard child.withLock({ $0 != nil }) else { throw .ended }
        var sent = 0
        var output: [UInt8] = []
        var lines = 0
        var portion = [UInt8](repeating: 0, count: 64 << 10)
        while lines < count {
            let left = deadline - ContinuousClock.now
            guard left > .zero else { throw .outOfTime }
            let isWaiting = sent < input.count
            var state = pollfd(fd: socket, events: Int16(isWaiting ? POLLIN | POLLOUT : POLLIN), revents: 0)
            let milliseconds = left.components.seconds * 1_000 + left.components.attoseconds / 1_000_000_000_000_000 + 1
            guard poll(&state, 1, Int32(clamping: milliseconds)) >= 0 || errno == EINTR else { throw .ended }
            if isWaiting, state.revents & Int16(POLLOUT) != 0 { sent += try send(input[sent...]) }
            guard state.revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 else { continue }
            let got = recv(socket, &portion, portion.count, 0)
            if got < 0, errno == EAGAIN || errno == EINTR { continue }
            guard got > 0 else { throw .ended }
            guard output.count + got <= limit else { throw .tooMuch }
            lines += portion[..<got].count { $0 == UInt8(ascii: "\n") }
            output.append(contentsOf: portion[..<got])
        }
        guard lines == count, output.last == UInt8(ascii: "\n") else { throw .outOfStep }
        return output.dropLast().split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    private func send(_ bytes: ArraySlice<UInt8>) throws(Failure) -> Int {
        let count = bytes.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if count < 0, errno == EAGAIN || errno == EINTR { return 0 }
        guard count > 0 else { throw .ended }
        return count
    }
}
