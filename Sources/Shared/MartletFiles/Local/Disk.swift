import Foundation
import Glibc
import NIOCore
import NIOPosix

/// Does what blocks on a thread that may be blocked.
func disk<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await NIOThreadPool.singleton.runIfActive(work)
}

/// A file that is being written and has no name yet that anybody knows.
///
/// `@unchecked Sendable`: used by one task at a time, on whichever thread.
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

    /// Brings the bytes to the disk, then the name.
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

/// An open file. Read on while it is open, also when somebody removes its name.
///
/// `@unchecked Sendable`: `pread` has no position to share.
final class InputFile: @unchecked Sendable {
    private let descriptor: Int32

    init(_ path: String, of blob: BlobName) throws {
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw errno == ENOENT ? FileError.missing(blob) : FileError.system("open") }
    }

    deinit { close(descriptor) }

    /// At most `count` bytes; none behind the end.
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
    /// Reads all of it, for its errors.
    ///
    /// - Throws: `FileError.unavailable`, also when it is not of this size.
    func check(sizeInBytes: Int) throws {
        var position = 0
        while case let count = try read(1 << 20, at: position).readableBytes, count > 0 { position += count }
        guard position == sizeInBytes else { throw FileError.unavailable(cause: "a blob has \(position) bytes of \(sizeInBytes)") }
    }
}

/// Brings a directory's entries to the disk.
func synchronize(directory: String) throws {
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError.system("open") }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw FileError.system("fsync") }
}

extension FileError {
    /// What `errno` says. Names no path.
    static func system(_ call: String) -> FileError {
        .unavailable(cause: "\(call): \(String(cString: strerror(errno)))")
    }
}
