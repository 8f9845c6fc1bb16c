/// One subscriber of a channel.
///
/// `@unchecked Sendable`: once it is in the mailbox, only the engine's thread accesses its mutable state.
final class Subscription: @unchecked Sendable {
    let id: Int
    let channel: String
    private let continuation: AsyncStream<PostgresNotification>.Continuation
    /// Whether `LISTEN` is in effect and the subscriber was notified of it.
    var isActive = false
    private var hasMissed = false

    init(id: Int, channel: String, continuation: AsyncStream<PostgresNotification>.Continuation) {
        self.id = id
        self.channel = channel
        self.continuation = continuation
    }

    func activate() {
        guard !isActive else { return }
        isActive = true
        hasMissed = true
        yield(.reconnected, payload: "", processID: 0)
    }

    func yield(_ kind: PostgresNotification.Kind, payload: String, processID: Int) {
        let notification = PostgresNotification(
            kind: kind, channel: channel, payload: payload, processID: processID, mayHaveMissed: hasMissed)
        if case .dropped = continuation.yield(notification) { hasMissed = true } else { hasMissed = false }
    }

    func finish() { continuation.finish() }
}
