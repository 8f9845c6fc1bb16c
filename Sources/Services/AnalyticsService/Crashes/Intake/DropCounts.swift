import MartletAPI
import MartletSentry
import ServiceLifecycle
import Synchronization

/// What was dropped of envelopes of which nothing was kept, until it is told to the spool.
final class DropCounts: Sendable {
    struct Owner: Hashable, Sendable {
        var appID: String
        var environment: AppEnvironment
    }

    struct Drop: Hashable, Sendable {
        var category: DataCategory
        var reason: String
    }

    private let counts = Mutex<[Owner: [Drop: Int]]>([:])

    func add(_ drops: [Drop: Int], _ owner: Owner) {
        guard !drops.isEmpty else { return }
        counts.withLock { $0[owner, default: [:]].merge(drops, uniquingKeysWith: +) }
    }

    func take() -> [Owner: [Drop: Int]] {
        counts.withLock { counts in
            defer { counts = [:] }
            return counts
        }
    }
}

/// Tells now and then what was dropped, and at the end. A process that is killed loses what it counted in the last two seconds.
struct DropTelling: Service {
    let intake: CrashIntake

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                try? await Task.sleep(for: .seconds(2))
                // A spool that is full has said so to the clients; these counts are kept.
                try? await intake.tellDropped()
            }
        }
        try? await intake.tellDropped()
    }
}
