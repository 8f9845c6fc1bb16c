import MartletAPI
import MartletCore

extension EventQueue {
    struct Waiting: Sendable {
        var submission: EventSubmission
        var continuation: CheckedContinuation<Void, any Error>
    }

    struct State {
        /// In the order of arrival; requests before `head` have been taken by a writer.
        var waiting: [Waiting] = []
        var head = 0
        /// Number of events not yet committed, including those that a writer has taken.
        var events = 0
        var sizeInBytes = 0
        var idle: [CheckedContinuation<[Waiting]?, Never>] = []
        var isClosed = false
    }
}

extension EventQueue.State {
    /// Enqueues a request or refuses it. If a writer is idle, also returns the batch it should write.
    mutating func take(
        _ new: EventQueue.Waiting, _ limits: EventQueue.Limits
    ) -> (
        refusal: ServiceError?,
        wake: (writer: CheckedContinuation<[EventQueue.Waiting]?, Never>, batch: [EventQueue.Waiting])?
    ) {
        guard !isClosed else { return (ServiceError(.unavailable), nil) }
        // A request larger than the limits is still accepted while nothing else waits.
        let isFull =
            events > 0
            && (events + new.submission.rows.count > limits.events
                || sizeInBytes + new.submission.sizeInBytes > limits.sizeInBytes)
        guard !isFull else {
            return (
                ServiceError(.tooManyRequests, "Too many events are waiting to be written. Send these again later."),
                nil
            )
        }
        events += new.submission.rows.count
        sizeInBytes += new.submission.sizeInBytes
        waiting.append(new)
        return (nil, idle.popLast().map { ($0, batch(limits)) })
    }

    /// The next batch for a writer; empty if nothing waits.
    mutating func batch(_ limits: EventQueue.Limits) -> [EventQueue.Waiting] {
        var (end, count) = (head, 0)
        while end < waiting.count,
            count == 0 || count + waiting[end].submission.rows.count <= limits.maximumEventsPerBatch
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

    /// Removes a settled request from the totals.
    mutating func forget(_ submission: EventSubmission) {
        events -= submission.rows.count
        sizeInBytes -= submission.sizeInBytes
    }
}
