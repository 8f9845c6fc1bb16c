import MartletPostgres
import ServiceLifecycle
import Synchronization

/// Tells whoever follows a space's change log that it has grown. Never waited for: the log itself is the truth.
///
/// Followers in this process are woken at once; those of other copies by a notification of its own, because one in the
/// write's transaction would make all writes take turns at their commit. A follower has to look by itself too, every
/// `pollInterval`.
final class ChangeSignal: Sendable {
    static let channel = "martlet_storage_changes"
    static let pollInterval: Duration = .seconds(1)
    /// Between two notifications about one space.
    private static let interval: Duration = .milliseconds(5)

    private let postgres: PostgresClient
    private let state = Mutex(State())

    private struct State {
        /// By schema.
        var followers: [String: [Int: AsyncStream<Void>.Continuation]] = [:]
        var lastFollower = 0
        /// Schemas that are being told of; true: once more afterwards.
        var telling: [String: Bool] = [:]
    }

    init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// To be called after the commit of a write.
    func written(in space: AppSpace) {
        wake(space.schema)
        let isNew = state.withLock { state in
            let isNew = state.telling[space.schema] == nil
            state.telling[space.schema] = !isNew
            return isNew
        }
        if isNew { Task { await tell(space.schema) } }
    }

    /// An element after each sign that the log may have grown; several signs may be one element.
    func follow(_ space: AppSpace) -> AsyncStream<Void> {
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

    private func tell(_ schema: String) async {
        repeat {
            // Should it fail, the others look by themselves before long.
            _ = try? await postgres.execute("SELECT pg_notify(\(Self.channel), \(schema))")
            try? await Task.sleep(for: Self.interval)
        } while state.withLock({ state in
            let isDue = state.telling[schema] == true
            state.telling[schema] = isDue ? false : nil
            return isDue
        })
    }
}

/// Wakes followers when another copy of the service has written.
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
