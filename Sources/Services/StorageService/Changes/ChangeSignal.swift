import MartletPostgres
import ServiceLifecycle
import Synchronization

/// Wakes the followers of a space's change log when it has grown. Delivery is best effort: only the log itself is
/// authoritative.
///
/// Followers in this process are woken at once. Those of other copies are woken by a separate notification, because one
/// in the write's transaction would serialize the commits of all writes. Followers must also read the log themselves
/// every `pollInterval`.
final class ChangeSignal: Sendable {
    static let channel = "martlet_storage_changes"
    static let pollInterval: Duration = .seconds(1)
    /// The minimum interval between two notifications about one space.
    private static let interval: Duration = .milliseconds(5)

    private let postgres: PostgresClient
    private let state = Mutex(State())

    private struct State {
        /// By schema.
        var followers: [String: [Int: AsyncStream<Void>.Continuation]] = [:]
        var lastFollower = 0
        /// Schemas for which a notification is being sent; true if another one must follow.
        var notifying: [String: Bool] = [:]
    }

    init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Must be called after a write has committed.
    func written(in space: AppSchema) {
        wake(space.schema)
        let isNew = state.withLock { state in
            let isNew = state.notifying[space.schema] == nil
            state.notifying[space.schema] = !isNew
            return isNew
        }
        if isNew { Task { await notify(space.schema) } }
    }

    /// Yields an element whenever the log may have grown. Several writes may yield a single element.
    func follow(_ space: AppSchema) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.lastFollower += 1
            state.followers[space.schema, default: [:]][state.lastFollower] = continuation
            return state.lastFollower
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { state in
                state.followers[space.schema]?[number] = nil
                if state.followers[space.schema]?.isEmpty == true { state.followers[space.schema] = nil }
            }
        }
        return stream
    }

    func wake(_ schema: String) {
        let followers = state.withLock { $0.followers[schema].map { Array($0.values) } ?? [] }
        for follower in followers { follower.yield() }
    }

    func wakeAll() {
        let followers = state.withLock { $0.followers.values.flatMap(\.values) }
        for follower in followers { follower.yield() }
    }

    private func notify(_ schema: String) async {
        repeat {
            // If it fails, other copies find the changes at their next poll.
            _ = try? await postgres.execute("SELECT pg_notify(\(Self.channel), \(schema))")
            try? await Task.sleep(for: Self.interval)
        } while state.withLock({ state in
            let isDue = state.notifying[schema] == true
            state.notifying[schema] = isDue ? false : nil
            return isDue
        })
    }
}

/// Wakes followers after writes by other copies of the service.
struct ChangeWatch: Service {
    let signal: ChangeSignal
    let postgres: PostgresClient

    func run() async throws {
        await cancelWhenGracefulShutdown {
            for await notification in postgres.listen(ChangeSignal.channel) {
                if notification.mayHaveMissed { signal.wakeAll() } else { signal.wake(notification.payload) }
            }
        }
    }
}
