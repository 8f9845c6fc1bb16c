public import Foundation
public import MartletCore
public import NIOCore

/// Keeps blobs. Any number of processes may use one at the same time.
public protocol FileBackend: Sendable {
    /// Stores a stream under a name that was never used; when it returns, the bytes outlive a loss of power.
    ///
    /// All or nothing: after an error there is no blob. Holds no more of the stream than one portion.
    ///
    /// - Throws: `FileError.tooLarge` as soon as the stream is longer than `limitInBytes`; what the stream throws.
    func write<Content: AsyncSequence & Sendable>(
        _ content: Content, to blob: BlobName, limitInBytes: Int
    ) async throws -> WrittenFile where Content.Element == ByteBuffer

    /// Hands over the bytes of `range` portion by portion, no faster than they are taken.
    ///
    /// - Throws: `FileError.missing`; what `consume` throws, which ends the reading.
    func read(_ blob: BlobName, in range: Range<Int>, _ consume: (ByteBuffer) async throws -> Void) async throws

    /// Removes a blob; does nothing when it is not there.
    func remove(_ blob: BlobName) async throws

    /// The blobs of a space in the order of their ids; `cursor` is the `next` of the page before.
    func list(_ space: String, after cursor: String?, limit: Int) async throws -> BlobPage

    /// Removes what writers that died before `date` left half done in a space.
    func removeAbandoned(before date: Date, in space: String) async throws

    /// Lends a blob as a file that a program can read; `directory` is where a copy may be made.
    func withFile<Result: Sendable>(
        of blob: BlobName, sizeInBytes: Int, copyingTo directory: String, _ body: (String) async throws -> Result
    ) async throws -> Result
}

/// What was stored.
public struct WrittenFile: Sendable, Equatable {
    public var sizeInBytes: Int
    /// 64 lower-case hexadecimal digits.
    public var sha256: String
    /// The first bytes, at most `ContentMeter.prefixLength`, to tell the type from.
    public var prefix: [UInt8]
}

public struct StoredBlob: Sendable, Equatable {
    public var id: String
    /// When it was written.
    public var written: Date
}

/// A part of the list of blobs. It may have fewer than were asked for, also when more follow.
public struct BlobPage: Sendable, Equatable {
    public var blobs: [StoredBlob]
    /// Where the next page begins; nil: there is none.
    public var next: String?
}

/// Why a back end did not do what it was asked.
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
        case .unavailable(let cause): "the files are not available: \(cause)"
        }
    }
}

extension FileBackend {
    /// The whole of a blob, portion by portion.
    public func withFile<Result: Sendable>(
        of blob: BlobName, sizeInBytes: Int, copyingTo directory: String, _ body: (String) async throws -> Result
    ) async throws -> Result {
        let copy = try TemporaryFile(in: directory)
        defer { copy.discard() }
        try await read(blob, in: 0..<sizeInBytes) { portion in try await disk { try copy.append(portion) } }
        return try await body(copy.path)
    }
}
