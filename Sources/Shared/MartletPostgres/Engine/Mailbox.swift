import Synchronization

/// Messages to the engine, in order. The only state shared between the engine and the rest of the process.
final class Mailbox: Sendable {
    enum Message {
        case submit(Request)
        case cancel(Request)
        case release(Lease, isReusable: Bool)
        case connected(Result<ConnectionHandle, PostgresError>, isListener: Bool)
        case cancellationSent(connection: Int)
        case listen(Subscription)
        case unlisten(Int)
        case warmUp
        /// Finish submitted requests, close the connections, then resume.
        case drain(UnsafeContinuation<Void, Never>)
        /// The client was released, so no caller is waiting.
        case abandon
    }

    fileprivate struct State {
        var messages: [Message] = []
        /// Number of queries in `messages`.
        var submitted = 0
        /// Number of queries in the engine's queue when it last reported.
        var waiting = 0
        var isAsleep = false
        var isDraining = false
        var isClosed = false
    }

    let waker = Waker()
    /// Number of connections ready for queries.
    let liveConnections = Atomic<Int>(0)
    private let state = Mutex(State())
    private let maximumWaiting: Int

    init(maximumWaiting: Int) { self.maximumWaiting = maximumWaiting }

    /// Enqueues a request or returns the reason for refusing it. While the engine runs, it accepts all requests on a
    /// lease, because they complete transactions that have begun.
    func submit(_ request: Request) -> PostgresError? {
        let (refusal, mustWake): (PostgresError?, Bool) = state.withLock { state in
            if state.isClosed || (state.isDraining && request.lease == nil) {
                return (.closed, false)
            }
            if request.lease == nil {
                if state.waiting + state.submitted >= maximumWaiting {
                    return (PostgresError(.overloaded, "too many queries are waiting"), false)
                }
                state.submitted += 1
            }
            state.messages.append(.submit(request))
            return (nil, state.wake())
        }
        if mustWake { waker.wake() }
        return refusal
    }

    /// Enqueues a message. Returns false, without effect, if the engine has ended.
    @discardableResult
    func post(_ message: Message) -> Bool {
        let (isTaken, mustWake) = state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            if case .drain = message { state.isDraining = true }
            state.messages.append(message)
            return (true, state.wake())
        }
        if mustWake { waker.wake() }
        return isTaken
    }

    /// Moves all messages into `buffer`, which must be empty. `waiting` is the length of the engine's queue.
    func take(into buffer: inout [Message], waiting: Int) {
        state.withLock { state in
            swap(&state.messages, &buffer)
            state.waiting = waiting + state.submitted
            state.submitted = 0
            state.isAsleep = false
        }
    }

    /// Returns whether the engine may sleep. If so, the next message wakes it.
    func prepareToSleep(waiting: Int) -> Bool {
        state.withLock { state in
            state.waiting = waiting
            state.isAsleep = state.messages.isEmpty
            return state.isAsleep
        }
    }

    /// Closes the mailbox and returns the unhandled messages.
    func close() -> [Message] {
        state.withLock { state in
            state.isClosed = true
            defer { state.messages = [] }
            return state.messages
        }
    }
}

extension Mailbox.State {
    fileprivate mutating func wake() -> Bool {
        defer { isAsleep = false }
        return isAsleep
    }
}
