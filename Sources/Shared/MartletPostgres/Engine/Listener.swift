/// The connection that receives notifications, and its subscriptions.
struct Listener {
    var connection: Connection?
    private(set) var subscriptions: [Int: Subscription] = [:]
    private var backoff = Backoff()
    private(set) var isConnecting = false
    private var notBefore: Nanoseconds = 0

    /// Returns whether to start connecting now.
    mutating func startsConnecting(now: Nanoseconds) -> Bool {
        guard connection == nil, !isConnecting, !subscriptions.isEmpty, now >= notBefore else { return false }
        isConnecting = true
        return true
    }

    var timer: Nanoseconds? {
        if let connection { return connection.cancellation.timer }
        return isConnecting || subscriptions.isEmpty ? nil : notBefore
    }

    var channels: Set<String> { Set(subscriptions.values.map(\.channel)) }

    func subscriptions(to channel: String) -> [Subscription] {
        subscriptions.values.filter { $0.channel == channel }
    }

    /// Adds a subscription; returns whether its channel is new.
    mutating func add(_ subscription: Subscription) -> Bool {
        defer { subscriptions[subscription.id] = subscription }
        return subscriptions(to: subscription.channel).isEmpty
    }

    /// Removes a subscription; returns its channel if no other one uses it.
    mutating func remove(_ id: Int) -> String? {
        guard let channel = subscriptions.removeValue(forKey: id)?.channel else { return nil }
        return subscriptions(to: channel).isEmpty ? channel : nil
    }

    mutating func didConnect(_ connection: Connection) {
        self.connection = connection
        isConnecting = false
        backoff.succeed()
        notBefore = 0
    }

    mutating func didFail(now: Nanoseconds) {
        connection = nil
        isConnecting = false
        notBefore = now + backoff.fail(random: .random(in: 0...1))
        for subscription in subscriptions.values { subscription.isActive = false }
    }

    func finish() {
        subscriptions.values.forEach { $0.finish() }
    }
}

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
