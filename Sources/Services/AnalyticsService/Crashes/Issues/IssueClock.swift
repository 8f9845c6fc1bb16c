import Logging
import MartletHTTP
import ServiceLifecycle

/// What time does to issues: ignored ones come back, reports become too old. Any number of copies may do it.
struct IssueClock: Service {
    private static let interval: Duration = .seconds(30)
    /// Between two looks for what is too old.
    private static let roundsBetweenPruning = 20

    let changes: IssueChanges
    let retention: SpaceRetention
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown { await self.turn() }
    }

    private func turn() async {
        var round = 0
        while !Task.isCancelled {
            await attempt("ignored issues were not looked at") { while try await changes.endIgnoring() == IssueChanges.maximumPerCall {} }
            if round % Self.roundsBetweenPruning == 0 {
                await attempt("reports that are too old were not removed") { while try await retention.prune() > 0 {} }
            }
            round += 1
            try? await Task.sleep(for: Self.interval * Double.random(in: 0.9...1.1))
        }
    }

    private func attempt(_ failure: Logger.Message, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            guard !Task.isCancelled else { return }
            logger.warning(failure, metadata: ["error.cause": "\(error)"])
        }
    }
}
