import Logging
import MartletHTTP
import ServiceLifecycle

/// Looks for what is to be told, from time to time. Any number of copies may.
struct AlertWatch: Service {
    private static let roundsBetweenPruning = 500

    let firing: AlertFiring
    let deliveries: AlertDeliveryStore
    let interval: Duration
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown { await self.watch() }
    }

    private func watch() async {
        var round = 0
        while !Task.isCancelled {
            await attempt("alerts were not looked at") { try await look() }
            if round % Self.roundsBetweenPruning == 0 { await attempt("deliveries of alerts were not pruned") { try await deliveries.prune() } }
            round += 1
            try? await Task.sleep(for: interval * Double.random(in: 0.9...1.1))
        }
    }

    /// Once.
    func look() async throws {
        while try await firing.announce() {}
        for id in try await firing.due() {
            await attempt("an alert was not looked at", ["alert.id": "\(id)"]) { try await firing.fire(id) }
        }
    }

    private func attempt(_ failure: Logger.Message, _ metadata: Logger.Metadata = [:], _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            guard !Task.isCancelled else { return }
            logger.warning(failure, metadata: metadata.merging(["error.cause": "\(error)"]) { $1 })
        }
    }
}
