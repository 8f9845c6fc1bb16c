import Foundation

/// Passes on the pieces of a body as they arrive, until the reader is too far behind.
///
/// `URLSession` cannot pause a download on every platform. Without a limit, a reader that is slower than the network
/// would accumulate the rest of the body in memory.
struct BodyFeed {
    static let maximumPieces = 4_096
    /// The size of the largest page.
    static let maximumSizeInBytes = 16 << 20

    let continuation: AsyncThrowingStream<Data, any Error>.Continuation
    /// The sizes of the pieces that are not read yet.
    private var sizes: [Int] = []
    private var sizeInBytes = 0
    private var hasGivenUp = false

    private init(_ continuation: AsyncThrowingStream<Data, any Error>.Continuation) {
        self.continuation = continuation
    }

    static func make() -> (body: AsyncThrowingStream<Data, any Error>, feed: BodyFeed) {
        let (body, continuation) = AsyncThrowingStream<Data, any Error>.makeStream(
            bufferingPolicy: .bufferingOldest(maximumPieces))
        return (body, BodyFeed(continuation))
    }

    /// Returns false if the reader is too far behind. From then on nothing is passed on, because a gap would be worse
    /// than an end.
    mutating func pass(_ piece: Data) -> Bool {
        guard !hasGivenUp else { return false }
        let result = continuation.yield(piece)
        if case .enqueued(let remaining) = result {
            // Standard libraries differ in whether `remaining` counts this piece, so one piece more may be counted.
            let read = max(0, sizes.count - (Self.maximumPieces - remaining))
            sizeInBytes += piece.count - sizes.prefix(read).reduce(0, +)
            sizes.removeFirst(read)
            sizes.append(piece.count)
            hasGivenUp = sizeInBytes > Self.maximumSizeInBytes
        } else if case .dropped = result {
            hasGivenUp = true
        }
        return !hasGivenUp
    }
}
