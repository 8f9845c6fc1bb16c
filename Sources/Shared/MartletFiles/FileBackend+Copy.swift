import NIOCore

extension FileBackend {
    /// Stores the bytes of one blob under another name.
    ///
    /// - Parameter sizeInBytes: of the blob, as `write` answered it.
    /// - Throws: `FileError.missing`, and what `write` throws.
    public func copy(_ blob: BlobName, to target: BlobName, sizeInBytes: Int) async throws {
        _ = try await write(BlobPortions(backend: self, blob: blob, sizeInBytes: sizeInBytes), to: target, limitInBytes: sizeInBytes)
    }
}

/// A blob's bytes, read portion by portion as they are asked for.
struct BlobPortions: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    private static let portionLength = 4 << 20

    let backend: any FileBackend
    let blob: BlobName
    let sizeInBytes: Int

    func makeAsyncIterator() -> Iterator { Iterator(portions: self) }

    struct Iterator: AsyncIteratorProtocol {
        let portions: BlobPortions
        private var position = 0

        init(portions: BlobPortions) {
            self.portions = portions
        }

        mutating func next() async throws -> ByteBuffer? {
            guard position < portions.sizeInBytes else { return nil }
            var buffer = ByteBuffer()
            let range = position..<Swift.min(position + BlobPortions.portionLength, portions.sizeInBytes)
            try await portions.backend.read(portions.blob, in: range) { buffer.writeImmutableBuffer($0) }
            position = range.upperBound
            return buffer
        }
    }
}
