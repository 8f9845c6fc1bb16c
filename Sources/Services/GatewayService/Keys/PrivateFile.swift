import Foundation

/// A file that only its owner can read and that is replaced atomically, even across a power failure.
struct PrivateFile: Sendable {
    let directory: String
    let name: String

    private var path: String { directory + "/" + name }

    /// Nil if the file does not exist.
    func read() -> Data? { FileManager.default.contents(atPath: path) }

    func replace(with data: Data) throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let fresh = path + ".\(ProcessInfo.processInfo.processIdentifier)"
        unlink(fresh)
        let descriptor = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try file.write(contentsOf: data)
            try file.synchronize()
            guard rename(fresh, path) == 0 else { throw CocoaError(.fileWriteUnknown) }
        } catch {
            unlink(fresh)
            throw error
        }
        // Makes the rename durable, too.
        let folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw CocoaError(.fileWriteUnknown) }
        try FileHandle(fileDescriptor: folder, closeOnDealloc: true).synchronize()
    }
}
