import Foundation
import Glibc
import NIOCore
import NIOPosix

/// Runs blocking work on a thread pool.
func disk<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await NIOThreadPool.singleton.runIfActive(work)
}

/// A file being written, under a random name.
///
/// `@unchecked Sendable`: used by one task at a time, not always on the same thread.
final class TemporaryFile: @unchecked Sendable {
    let path: String
    private var descriptor: Int32

    init(in directory: String) throws {
        var generator = SystemRandomNumberGenerator()
        path = directory + "/" + hexadecimal(generator.next()) + hexadecimal(generator.next())
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileError.system("open") }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    func append(_ portion: ByteBuffer) throws {
        try portion.withUnsafeReadableBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let written = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if written < 0 && errno == EINTR { continue }
                guard written > 0 else { throw FileError.system("write") }
                rest = rest.dropFirst(written)
            }
        }
    }

    /// Flushes the bytes to disk, renames the file, and flushes the directory.
    func finish(movingTo destination: String, in directory: String) throws {
        guard fsync(descriptor) == 0 else { throw FileError.system("fsync") }
        close(descriptor)
        descriptor = -1
        guard rename(path, destination) == 0 else { throw FileError.system("rename") }
        try synchronize(directory: directory)
    }

    func discard() {
        unlink(path)
    }
}

/// An open file. It can be read as long as it is open, even after its name has been removed.
///
/// `@unchecked Sendable`: `pread` shares no file position.
final class InputFile: @unchecked Sendable {
    private let descriptor: Int32

    init(_ path: String, of blob: BlobName) throws {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw errno == ENOENT ? FileError.missing(blob) : FileError.system("open") }
    }

    deinit { close(descriptor) }

    /// Reads at most `count` bytes; none after the end.
    func read(_ count: Int, at position: Int) throws -> ByteBuffer {
        var portion = ByteBuffer()
        try portion.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { memory in
            while true {
                let got = pread(descriptor, memory.baseAddress, count, off_t(position))
                if got < 0 && errno == EINTR { continue }
                guard got >= 0 else { throw FileError.system("pread") }
                return got
            }
        }
        return portion
    }
}

extension InputFile {
    /// Reads the whole file to detect errors of the disk.
    ///
    /// - Throws: `FileError.unavailable`, also if the size differs.
    func check(sizeInBytes: Int) throws {
        var position = 0
        while case let count = try read(1 << 20, at: position).readableBytes, count > 0 { position += count }
        guard position == sizeInBytes else {
            throw FileError.unavailable(cause: "a blob has \(position) bytes of \(sizeInBytes)")
        }
    }
}

/// Flushes a directory's entries to disk.
func synchronize(directory: String) throws {
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError.system("open") }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw FileError.system("fsync") }
}

extension FileError {
    /// The current `errno` as an error. Contains no path.
    static func system(_ call: String) -> FileError {
        .unavailable(cause: "\(call): \(String(cString: strerror(errno)))")
    }
}
