public import NIOCore

extension FileBackend {
    /// Copies a blob to another name.
    ///
    /// - Parameter sizeInBytes: The size of the blob, as returned by `write`.
    /// - Throws: `FileError.missing`, and what `write` throws.
    public func copy(_ blob: BlobName, to target: BlobName, sizeInBytes: Int) async throws {
        let piece = StoredPiece(blob: blob, sizeInBytes: sizeInBytes)
        _ = try await write(JoinedBlobs([piece], in: self), to: target, limitInBytes: sizeInBytes)
    }
}

/// A blob with its size, as returned by `FileBackend.write`.
public struct StoredPiece: Sendable {
    public var blob: BlobName
    public var sizeInBytes: Int

    public init(blob: BlobName, sizeInBytes: Int) {
        self.blob = blob
        self.sizeInBytes = sizeInBytes
    }
}

/// The bytes of several blobs in sequence, read in portions on demand.
public struct JoinedBlobs: AsyncSequence, Sendable {
    public typealias Element = ByteBuffer

    private static let portionLength = 4 << 20

    private let pieces: [StoredPiece]
    private let backend: any FileBackend

    public init(_ pieces: [StoredPiece], in backend: any FileBackend) {
        self.pieces = pieces
        self.backend = backend
    }

    public func makeAsyncIterator() -> Iterator { Iterator(pieces: pieces[...], backend: backend) }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var pieces: ArraySlice<StoredPiece>
        fileprivate let backend: any FileBackend
        private var position = 0

        fileprivate init(pieces: ArraySlice<StoredPiece>, backend: any FileBackend) {
            self.pieces = pieces
            self.backend = backend
        }

        public mutating func next() async throws -> ByteBuffer? {
            while let piece = pieces.first {
                let range = position..<Swift.min(position + JoinedBlobs.portionLength, piece.sizeInBytes)
                if range.isEmpty {
                    pieces.removeFirst()
                    position = 0
                    continue
                }
                var portion = ByteBuffer()
                try await backend.read(piece.blob, in: range) { portion.writeImmutableBuffer($0) }
                position = range.upperBound
                return portion
            }
            return nil
        }
    }
}
