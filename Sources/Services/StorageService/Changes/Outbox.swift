import MartletHTTP
import NIOCore
import Synchronization

/// What waits to be written to one subscriber; bounded, so that one who does not read costs no more than that.
///
/// The subscriber's task writes what waits. As long as nothing does, and the subscriber keeps up, `hand` writes at once from the event loop.
final class Outbox: Sendable {
    static let maximumFrames = 1_000
    static let maximumSizeInBytes = 4 << 20
    /// How long a reader that is catching up may take nothing.
    static let patience: Duration = .seconds(30)

    let direct: DirectBody?
    private let state = Mutex(State())

    private struct State {
        /// Nothing waits, and nothing is on its way through the task.
        var isDirect = false
        /// How often something was left to the task.
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

    /// - Parameter direct: the connection, when it can be written to without the task.
    init(_ direct: DirectBody? = nil) {
        self.direct = direct
    }

    /// Writes, or leaves it to the task. On the event loop of `direct`.
    func hand(_ frame: LiveFrame) {
        if let direct, state.withLock({ $0.isDirect && !$0.isFinished }), direct.isWritable {
            direct.write(frame.chunk)
        } else {
            push(frame)
        }
    }

    /// False when the subscriber is gone or too slow: then it is cut off, and what waited is dropped.
    ///
    /// - Parameter isBounded: false when the caller itself waits for what it pushed to be written.
    @discardableResult
    func push(_ frame: LiveFrame, isBounded: Bool = true) -> Bool {
        let (isTaken, reader) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
            guard !state.isFinished else { return (false, nil) }
            state.isDirect = false
            state.pushes += 1
            let isFull = isBounded && (state.frames.count >= Self.maximumFrames || state.size + frame.size > Self.maximumSizeInBytes)
            // A single frame may be larger than all that may wait.
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

    /// Ends the stream behind what waits, and `last`.
    func finish(with last: LiveFrame? = nil) {
        let reader = state.withLock { state in
            if !state.isFinished, let last { state.frames.append(last.buffer) }
            state.isFinished = true
            return state.takeReader()
        }
        reader?.resume()
    }

    /// All that waits, when there is something; nil at the end, and when the task is cancelled. One task may ask.
    func next() async -> [ByteBuffer]? {
        while true {
            let (frames, isFinished, pushes) = state.withLock { state in
                defer {
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

    /// As soon as the event loop has what the task wrote, unless something is left to the task before.
    private func becomeDirect(unlessAfter pushes: Int) {
        guard let direct else { return }
        direct.eventLoop.execute {
            self.state.withLock { state in
                if state.pushes == pushes { state.isDirect = true }
            }
        }
    }

    /// Waits for most of what was pushed to be written.
    ///
    /// - Throws: `CancellationError`, also when the stream is finished.
    func untilNearlyEmpty() async throws {
        var (least, deadline) = (Int.max, ContinuousClock.now + Self.patience)
        while true {
            let (isFinished, size) = state.withLock { ($0.isFinished, $0.size) }
            if isFinished { throw CancellationError() }
            if size <= Self.maximumSizeInBytes / 4 { return }
            if size < least { (least, deadline) = (size, .now + Self.patience) }
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

/// One event on its way to many subscribers: brings their frames to their event loops, many with one call.
struct Handout: ~Copyable {
    private static let batchSize = 128

    private var batches: [ObjectIdentifier: (loop: any EventLoop, frames: [(Outbox, LiveFrame)])] = [:]

    mutating func add(_ frame: LiveFrame, for outbox: Outbox) {
        guard let loop = outbox.direct?.eventLoop else {
            outbox.push(frame)
            return
        }
        let id = ObjectIdentifier(loop)
        batches[id, default: (loop, [])].frames.append((outbox, frame))
        guard let batch = batches[id], batch.frames.count >= Self.batchSize else { return }
        Self.hand(batch.frames, on: loop)
        batches[id]?.frames = []
    }

    consuming func end() {
        for (loop, frames) in batches.values { Self.hand(frames, on: loop) }
    }

    private static func hand(_ frames: [(Outbox, LiveFrame)], on loop: any EventLoop) {
        loop.execute {
            for (outbox, frame) in frames { outbox.hand(frame) }
        }
    }
}
