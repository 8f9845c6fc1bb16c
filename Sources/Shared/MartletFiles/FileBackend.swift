public import Foundation
public import MartletCore
public import NIOCore

/// Stores blobs. Any number of processes may use the same storage concurrently.
public protocol FileBackend: Sendable {
    /// Stores a stream under an unused name. When this returns, the bytes survive a power loss.
    ///
    /// Atomic: after an error there is no blob. Implementations hold only a bounded part of the stream in memory.
    ///
    /// - Throws: `FileError.tooLarge` as soon as the stream exceeds `limitInBytes`; what the stream throws.
    func write<Content: AsyncSequence & Sendable>(
        _ content: Content, to blob: BlobName, limitInBytes: Int
    ) async throws -> WrittenFile where Content.Element == ByteBuffer

    /// Passes the bytes of `range` to `consume` portion by portion, with backpressure.
    ///
    /// - Throws: `FileError.missing`; what `consume` throws, which ends the reading.
    func read(_ blob: BlobName, in range: Range<Int>, _ consume: (ByteBuffer) async throws -> Void) async throws

    /// Removes a blob; does nothing if there is none.
    func remove(_ blob: BlobName) async throws

    /// The blobs of a space in the order of their ids; `cursor` is the `next` of the previous page.
    func list(_ space: String, after cursor: String?, limit: Int) async throws -> BlobPage

    /// Removes what writers that died before `date` left unfinished in a space.
    func removeAbandoned(before date: Date, in space: String) async throws

    /// Lends a blob as a file that a program can read; a copy may be made in `directory`.
    func withFile<Result: Sendable>(
        of blob: BlobName, sizeInBytes: Int, copyingTo directory: String, _ body: (String) async throws -> Result
    ) async throws -> Result
}

/// The properties of a stored stream.
public struct WrittenFile: Sendable, Equatable {
    public var sizeInBytes: Int
    /// 64 hexadecimal digits in lower case.
    public var sha256: String
    /// The first bytes, at most `ContentMeter.prefixLength`, from which the type can be determined.
    public var prefix: [UInt8]
}

public struct StoredBlob: Sendable, Equatable {
    public var id: String
    /// The time of writing.
    public var written: Date
}

/// A page of a list of blobs. It may have fewer blobs than requested even if more follow.
public struct BlobPage: Sendable, Equatable {
    public var blobs: [StoredBlob]
    /// The cursor of the next page; nil on the last page.
    public var next: String?
}

/// Why an operation failed.
public enum FileError: Error, DependencyError, CustomStringConvertible {
    case tooLarge(limitInBytes: Int)
    case missing(BlobName)
    /// `cause` is for the log.
    case unavailable(cause: String)

    public var condition: DependencyCondition {
        switch self {
        case .tooLarge, .missing: .fault
        case .unavailable: .unavailable
        }
    }

    public var description: String {
        switch self {
        case .tooLarge(let limit): "the file has more than \(limit) bytes"
        case .missing(let blob): "no blob \(blob.key)"
        case .unavailable(let cause): "file storage is unavailable: \(cause)"
        }
    }
}

extension FileBackend {
    /// Copies the blob to a temporary file, portion by portion, and lends that file.
    public func withFile<Result: Sendable>(
        of blob: BlobName, sizeInBytes: Int, copyingTo directory: String, _ body: (String) async throws -> Result
    ) async throws -> Result {
        let copy = try TemporaryFile(in: directory)
        defer { copy.discard() }
        try await read(blob, in: 0..<sizeInBytes) { portion in try await disk { try copy.append(portion) } }
        return try await body(copy.path)
    }
}
