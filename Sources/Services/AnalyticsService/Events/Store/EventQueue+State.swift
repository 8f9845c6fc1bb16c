import MartletAPI
import MartletHTTP

extension EventQueue {
    struct Waiting: Sendable {
        var submission: EventSubmission
        var continuation: CheckedContinuation<Void, any Error>
    }

    struct State {
        /// First come, first served; what is before `head` is taken.
        var waiting: [Waiting] = []
        var head = 0
        /// Those with a writer count, too.
        var events = 0
        var sizeInBytes = 0
        var idle: [CheckedContinuation<[Waiting]?, Never>] = []
        var isClosed = false
    }
}

extension EventQueue.State {
    /// Takes a request in, or says why not; a writer that was idle gets what waits.
    mutating func take(
        _ new: EventQueue.Waiting, _ limits: EventQueue.Limits
    ) -> (
        refusal: HTTPProblem?,
        wake: (writer: CheckedContinuation<[EventQueue.Waiting]?, Never>, batch: [EventQueue.Waiting])?
    ) {
        guard !isClosed else { return (HTTPProblem(.unavailable), nil) }
        // What is more than all that may wait is taken when nothing waits.
        let isFull =
            events > 0
            && (events + new.submission.rows.count > limits.events
                || sizeInBytes + new.submission.sizeInBytes > limits.sizeInBytes)
        guard !isFull else {
            return (
                HTTPProblem(.tooManyRequests, "Too many events are waiting to be written. Send these again later."), nil
            )
        }
        events += new.submission.rows.count
        sizeInBytes += new.submission.sizeInBytes
        waiting.append(new)
        return (nil, idle.popLast().map { ($0, batch(limits)) })
    }

    /// What a writer takes next; empty: nothing waits.
    mutating func batch(_ limits: EventQueue.Limits) -> [EventQueue.Waiting] {
        var (end, count) = (head, 0)
        while end < waiting.count, count == 0 || count + waiting[end].submission.rows.count <= limits.eventsPerStatement
        {
            count += max(1, waiting[end].submission.rows.count)
            end += 1
        }
        let batch = Array(waiting[head..<end])
        head = end
        if head == waiting.count || head > 1_000 {
            waiting.removeSubrange(..<head)
            head = 0
        }
        return batch
    }

    /// Of what is settled nothing counts any more.
    mutating func forget(_ submission: EventSubmission) {
        events -= submission.rows.count
        sizeInBytes -= submission.sizeInBytes
    }
}
