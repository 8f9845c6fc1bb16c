import Foundation
import Synchronization

/// Where log lines go: a buffer in front of standard error, emptied every 50 ms, at 32 KiB, and at once from `warning` up.
///
/// One system call for many lines: at 10,000 requests per second a call per line costs more than making the line.
final class LogSink: Sendable {
    static let standardError = LogSink(descriptor: STDERR_FILENO)

    private static let flushSizeInBytes = 32 * 1024

    private let descriptor: Int32
    private let pending = Mutex<[UInt8]>([])

    init(descriptor: Int32) {
        self.descriptor = descriptor
        let thread = Thread { [self] in
            while true {
                usleep(50_000)
                flush()
            }
        }
        thread.stackSize = 128 * 1024
        thread.start()
        atexit { LogSink.standardError.flush() }
    }

    func write(_ line: [UInt8], flushing: Bool) {
        let size = pending.withLock { bytes in
            bytes.append(contentsOf: line)
            return bytes.count
        }
        if flushing || size >= Self.flushSizeInBytes { flush() }
    }

    func flush() {
        pending.withLock { bytes in
            guard !bytes.isEmpty else { return }
            bytes.withUnsafeBytes { buffer in
                var rest = buffer[...]
                while !rest.isEmpty {
                    let written = Foundation.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                    if written < 0 && errno == EINTR { continue }
                    guard written > 0 else { break }
                    rest = rest.dropFirst(written)
                }
            }
            bytes.removeAll(keepingCapacity: bytes.capacity <= 4 * Self.flushSizeInBytes)
        }
    }
}
