import MartletAPI
import MartletBackground
import MartletSentry
import ServiceLifecycle
import Synchronization

/// Counts the items of envelopes that were dropped as a whole, until the counts are written to the spool.
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

/// Writes drop counts to the spool every two seconds and at shutdown. A killed process loses the counts since the last
/// write.
struct DropReporter: Service {
    let intake: CrashIntake

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await NotifiedLoop(every: .seconds(2), startsAtOnce: false).run {
                // A full spool is already reported to clients; the counts are kept.
                (try? await intake.reportDropped()) != nil
            }
        }
        try? await intake.reportDropped()
    }
}
