import MartletHTTP
import NIOCore
import Synchronization

/// The frames waiting to be written to one subscriber; bounded, so that a slow reader cannot use unlimited memory.
///
/// The subscriber's task writes waiting frames. While nothing is waiting and the subscriber keeps up, `deliver` writes
/// directly from the event loop.
final class Outbox: Sendable {
    static let maximumFrames = 1_000
    static let maximumSizeInBytes = 4 << 20
    /// How long a reader that is catching up may go without accepting bytes.
    static let stallTimeout: Duration = .seconds(30)

    let direct: DirectBody?
    /// The relay by which events reach this subscriber while nothing is waiting, and the subscriber's number in it.
    let relay: (relay: LiveRelay, number: UInt32)?
    private let state = Mutex(State())

    private struct State {
        /// Whether no frame is waiting and the task has written everything.
        var isDirect = false
        /// The number of bytes written by the task.
        var taskBytes: UInt64 = 0
        /// The number of frames that were left to the task.
        var pushes = 0
        var frames: [ByteBuffer] = []
        var size = 0
        var isFinished = false
        var reader: CheckedContinuation<Void, Never>?

        mutating func takeReader() -> CheckedContinuation<Void, Never>? {
            defer { reader = nil }
            return reader
        }
    }

    /// - Parameters:
    ///   - direct: The connection, if it can be written to without the task.
    ///   - relay: The relay to which the outbox was added; takes precedence over the connection.
    init(_ direct: DirectBody? = nil, relay: (relay: LiveRelay, number: UInt32)? = nil) {
        self.direct = direct
        self.relay = relay
    }

    /// The event loop on which frames must be delivered.
    var eventLoop: (any EventLoop)? { relay?.relay.direct.eventLoop ?? direct?.eventLoop }

    /// The subscriber's entry in a relay's frame; nil if the frame must go through the task. Once a frame has gone
    /// through the relay, so do all later ones.
    var relayed: (number: UInt32, taskBytes: UInt64)? {
        guard let relay else { return nil }
        return state.withLock { $0.isDirect && !$0.isFinished ? (relay.number, $0.taskBytes) : nil }
    }

    /// Writes the frame directly or leaves it to the task. Must be called on the event loop of `direct`.
    func deliver(_ frame: LiveFrame) {
        if let direct, state.withLock({ $0.isDirect && !$0.isFinished }), direct.isWritable {
            direct.write(frame.chunk)
        } else {
            push(frame)
        }
    }

    /// Leaves a frame to the task. Returns false if the stream has ended, or if the subscriber is too slow; it is then
    /// cut off, and all waiting frames are dropped.
    ///
    /// - Parameter isBounded: False if the caller itself waits for its frames to be written.
    @discardableResult
    func push(_ frame: LiveFrame, isBounded: Bool = true) -> Bool {
        let (isTaken, reader) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
            guard !state.isFinished else { return (false, nil) }
            state.isDirect = false
            state.pushes += 1
            let isFull =
                isBounded
                && (state.frames.count >= Self.maximumFrames || state.size + frame.size > Self.maximumSizeInBytes)
            // A single frame may exceed the size limit.
            if isFull && !state.frames.isEmpty {
                state.frames = []
                state.isFinished = true
            } else {
                state.frames.append(frame.buffer)
                state.size += frame.size
            }
            return (!state.isFinished, state.takeReader())
        }
        reader?.resume()
        return isTaken
    }

    /// Ends the stream after the waiting frames and `last`.
    func finish(with last: LiveFrame? = nil) {
        let reader = state.withLock { state in
            if !state.isFinished, let last { state.frames.append(last.buffer) }
            state.isFinished = true
            return state.takeReader()
        }
        reader?.resume()
    }

    /// Waits for frames and returns all of them; nil at the end or when the task is cancelled. Only one task may call
    /// this.
    func next() async -> [ByteBuffer]? {
        while true {
            let (frames, isFinished, pushes) = state.withLock { state in
                defer {
                    state.taskBytes += UInt64(state.frames.reduce(0) { $0 + $1.readableBytes })
                    state.frames = []
                    state.size = 0
                }
                return (state.frames, state.isFinished, state.pushes)
            }
            if !frames.isEmpty { return frames }
            if isFinished || Task.isCancelled { return nil }
            becomeDirect(unlessAfter: pushes)
            await wait()
        }
    }

    /// Allows direct writes once the event loop has what the task wrote, unless another frame is left to the task
    /// first.
    private func becomeDirect(unlessAfter pushes: Int) {
        guard let direct else { return }
        direct.eventLoop.execute {
            self.state.withLock { state in
                if state.pushes == pushes { state.isDirect = true }
            }
        }
    }

    /// Waits until most frames have been written.
    ///
    /// - Throws: `CancellationError`, also if the stream is finished or the reader exceeds `stallTimeout`.
    func untilNearlyEmpty() async throws {
        var (least, deadline) = (Int.max, ContinuousClock.now + Self.stallTimeout)
        while true {
            let (isFinished, size) = state.withLock { ($0.isFinished, $0.size) }
            if isFinished { throw CancellationError() }
            if size <= Self.maximumSizeInBytes / 4 { return }
            if size < least { (least, deadline) = (size, .now + Self.stallTimeout) }
            guard .now < deadline else {
                finish()
                throw CancellationError()
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if !state.frames.isEmpty || state.isFinished || Task.isCancelled { return true }
                    state.reader = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.takeReader() }?.resume()
        }
    }
}

/// Distributes one event to many subscribers: passes their frames to their event loops in batches.
struct FrameFanOut: ~Copyable {
    private static let batchSize = 128
    private static let relayBatchSize = 1_024

    /// Outboxes that receive the same frame by the same relay or event loop.
    private final class Batch {
        let frame: LiveFrame
        var outboxes: [Outbox] = []

        init(_ frame: LiveFrame) {
            self.frame = frame
        }
    }

    private struct BatchKey: Hashable {
        /// The relay or event loop.
        var via: ObjectIdentifier
        var frame: UInt
    }

    private var batches: [BatchKey: Batch] = [:]
    /// The most recently used batch, which usually fits the next outbox, too.
    private var last: (key: BatchKey, batch: Batch)?

    mutating func add(_ frame: LiveFrame, for outbox: Outbox) {
        guard let loop = outbox.eventLoop else {
            outbox.push(frame)
            return
        }
        let key = BatchKey(
            via: outbox.relay.map { ObjectIdentifier($0.relay) } ?? ObjectIdentifier(loop), frame: frame.identity)
        let batch = batch(key, frame)
        batch.outboxes.append(outbox)
        guard batch.outboxes.count >= (outbox.relay == nil ? Self.batchSize : Self.relayBatchSize) else { return }
        Self.deliver(batch)
    }

    consuming func end() {
        for batch in batches.values { Self.deliver(batch) }
    }

    private mutating func batch(_ key: BatchKey, _ frame: LiveFrame) -> Batch {
        if let last, last.key == key { return last.batch }
        let batch = batches[key] ?? Batch(frame)
        batches[key] = batch
        last = (key, batch)
        return batch
    }

    private static func deliver(_ batch: Batch) {
        guard let first = batch.outboxes.first, let loop = first.eventLoop else { return }
        let (frame, outboxes, relay) = (batch.frame, batch.outboxes, first.relay?.relay)
        batch.outboxes = []
        loop.execute {
            if let relay { return relay.deliver(frame, to: outboxes) }
            for outbox in outboxes { outbox.deliver(frame) }
        }
    }
}
