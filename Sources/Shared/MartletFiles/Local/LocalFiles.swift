public import Foundation
public import NIOCore

/// Stores blobs as files in a directory that every instance of the service must share.
///
/// A blob is written to `<space>/incoming/`, flushed with `fsync` and moved into place with `rename`, so that under its
/// own name it is complete or absent. Files have mode 600 and directories 700.
public struct LocalFiles: FileBackend {
    private static let portionLength = 128 << 10
    private static let writeLength = 256 << 10

    private let root: String

    /// - Parameter directory: Created on the first write.
    public init(directory: String) {
        root = directory.hasSuffix("/") ? String(directory.dropLast()) : directory
    }

    public func write<Content: AsyncSequence & Sendable>(
        _ content: Content, to blob: BlobName, limitInBytes: Int
    ) async throws -> WrittenFile where Content.Element == ByteBuffer {
        let (space, folder) = (root + "/" + blob.space, root + "/" + blob.space + "/" + blob.id.prefix(2))
        let file = try await disk {
            for path in [root, space, space + "/incoming", folder] { try makeDirectory(path) }
            return try TemporaryFile(in: space + "/incoming")
        }
        do {
            var meter = ContentMeter(limitInBytes: limitInBytes)
            var pending = ByteBuffer()
            for try await portion in content {
                try meter.add(portion)
                pending.writeImmutableBuffer(portion)
                guard pending.readableBytes >= Self.writeLength else { continue }
                let full = pending
                pending = ByteBuffer()
                try await disk { try file.append(full) }
            }
            let last = pending
            try await disk {
                try file.append(last)
                try file.finish(movingTo: path(of: blob), in: folder)
            }
            return meter.result
        } catch {
            file.discard()
            throw error
        }
    }

    public func read(_ blob: BlobName, in range: Range<Int>, _ consume: (ByteBuffer) async throws -> Void) async throws
    {
        let file = try await disk { try InputFile(path(of: blob), of: blob) }
        var position = range.lowerBound
        while position < range.upperBound {
            let (start, count) = (position, min(Self.portionLength, range.upperBound - position))
            let portion = try await disk { try file.read(count, at: start) }
            guard portion.readableBytes > 0 else {
                throw FileError.unavailable(cause: "\(blob.key) is shorter than it was")
            }
            position += portion.readableBytes
            try await consume(portion)
        }
    }

    public func remove(_ blob: BlobName) async throws {
        try await disk {
            guard unlink(path(of: blob)) == 0 || errno == ENOENT else { throw FileError.system("unlink") }
        }
    }

    public func list(_ space: String, after cursor: String?, limit: Int) async throws -> BlobPage {
        guard BlobName.isSpace(space) else { return BlobPage(blobs: []) }
        return try await disk {
            var found: [StoredBlob] = []
            for folder in names(in: root + "/" + space).filter({ $0.utf8.count == 2 && $0 >= (cursor ?? "").prefix(2) })
                .sorted()
            {
                let ids = names(in: "\(root)/\(space)/\(folder)").filter { $0 > cursor ?? "" }.sorted()
                for name in ids where BlobName(space: space, id: name) != nil {
                    guard let written = modified("\(root)/\(space)/\(folder)/\(name)") else { continue }
                    found.append(StoredBlob(id: name, written: written))
                    if found.count == limit { return BlobPage(blobs: found, next: name) }
                }
            }
            return BlobPage(blobs: found)
        }
    }

    public func removeAbandoned(before date: Date, in space: String) async throws {
        guard BlobName.isSpace(space) else { return }
        try await disk {
            let folder = root + "/" + space + "/incoming"
            for name in names(in: folder) {
                guard let written = modified(folder + "/" + name), written < date else { continue }
                unlink(folder + "/" + name)
            }
        }
    }

    public func withFile<Result: Sendable>(
        of blob: BlobName, sizeInBytes: Int, copyingTo directory: String, _ body: (String) async throws -> Result
    ) async throws -> Result {
        // Detects a missing or unreadable blob here, so that it is not mistaken for one that the program cannot parse.
        _ = try await disk { try InputFile(path(of: blob), of: blob) }
        return try await body(path(of: blob))
    }

    private func path(of blob: BlobName) -> String { root + "/" + blob.key }
}

func names(in directory: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
}

/// The time of the last modification; nil if the file does not exist.
func modified(_ path: String) -> Date? {
    (try? FileManager.default.attributesOfItem(atPath: path))?[.modificationDate] as? Date
}

/// Creates a directory and its missing parents so that they survive a power loss; does nothing if it exists.
private func makeDirectory(_ path: String) throws {
    let parent = (path as NSString).deletingLastPathComponent
    if mkdir(path, 0o700) == 0 { return try synchronize(directory: parent.isEmpty ? "." : parent) }
    switch errno {
    case EEXIST: return
    case ENOENT where !parent.isEmpty && parent != path:
        try makeDirectory(parent)
        try makeDirectory(path)
    default: throw FileError.system("mkdir")
    }
}
