import Synchronization

/// Spans that wait to be sent to the collector. Bounded: while it is full, new spans are dropped and counted.
public final class SpanQueue: Sendable {
    public static let maximumCount = 2_048
    public static let maximumBatchCount = 512

    private struct State {
        var spans: [RequestSpan] = []
        var dropped = 0
    }

    /// Signals that a full batch waits.
    public let fullBatches: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation
    private let state = Mutex(State())

    public init() {
        let (fullBatches, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.fullBatches = fullBatches
        self.signal = signal
    }

    public func append(_ span: RequestSpan) {
        let count = state.withLock { state in
            guard state.spans.count < Self.maximumCount else {
                state.dropped += 1
                return 0
            }
            state.spans.append(span)
            return state.spans.count
        }
        if count > 0, count.isMultiple(of: Self.maximumBatchCount) { signal.yield() }
    }

    /// Removes the oldest spans; nil if there are none.
    public func takeBatch() -> [RequestSpan]? {
        state.withLock { state in
            guard !state.spans.isEmpty else { return nil }
            let batch = Array(state.spans.prefix(Self.maximumBatchCount))
            state.spans.removeFirst(batch.count)
            return batch
        }
    }

    /// Returns a batch that was not sent. What exceeds the limit is dropped, the newest first.
    public func putBack(_ batch: [RequestSpan]) {
        state.withLock { state in
            state.spans.insert(contentsOf: batch, at: 0)
            let excess = max(0, state.spans.count - Self.maximumCount)
            state.spans.removeLast(excess)
            state.dropped += excess
        }
    }

    /// The number of spans dropped since the last call.
    public func takeDroppedCount() -> Int {
        state.withLock { state in
            defer { state.dropped = 0 }
            return state.dropped
        }
    }
}
