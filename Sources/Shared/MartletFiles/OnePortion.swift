public import NIOCore

/// A stream that consists of a single portion.
public struct OnePortion: AsyncSequence, Sendable {
    let portion: ByteBuffer

    public init(portion: ByteBuffer) {
        self.portion = portion
    }

    public func makeAsyncIterator() -> Iterator { Iterator(portion: portion) }

    public struct Iterator: AsyncIteratorProtocol {
        var portion: ByteBuffer?

        public mutating func next() async -> ByteBuffer? {
            defer { portion = nil }
            return portion
        }
    }
}
