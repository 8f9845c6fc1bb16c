import Crypto
import MartletCore
public import NIOCore

/// Counts, hashes and limits a stream as it passes through, and keeps its first bytes.
public struct ContentMeter {
    public static let prefixLength = 1_024

    private let limitInBytes: Int
    private var hash = SHA256()
    private var size = 0
    private var prefix: [UInt8] = []

    public init(limitInBytes: Int) {
        self.limitInBytes = limitInBytes
    }

    /// - Throws: `FileError.tooLarge`.
    public mutating func add(_ portion: ByteBuffer) throws {
        size += portion.readableBytes
        guard size <= limitInBytes else { throw FileError.tooLarge(limitInBytes: limitInBytes) }
        if prefix.count < Self.prefixLength {
            prefix.append(contentsOf: portion.readableBytesView.prefix(Self.prefixLength - prefix.count))
        }
        portion.withUnsafeReadableBytes { hash.update(bufferPointer: $0) }
    }

    public var result: WrittenFile {
        WrittenFile(sizeInBytes: size, sha256: Hexadecimal.text(hash.finalize()), prefix: prefix)
    }
}
