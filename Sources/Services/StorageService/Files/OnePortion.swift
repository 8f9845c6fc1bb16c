import NIOCore

/// A stream of one portion.
struct OnePortion: AsyncSequence, Sendable {
    let portion: ByteBuffer

    func makeAsyncIterator() -> Iterator { Iterator(portion: portion) }

    struct Iterator: AsyncIteratorProtocol {
        var portion: ByteBuffer?

        mutating func next() async -> ByteBuffer? {
            defer { portion = nil }
            return portion
        }
    }
}
