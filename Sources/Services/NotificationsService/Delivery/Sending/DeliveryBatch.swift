import Foundation
import Synchronization

/// Deliveries of one message that were claimed together.
final class DeliveryBatch: Sendable {
    /// The maximum number of concurrent requests of a batch to FCM, and to each web push host. The APNs client has its
    /// own queue and connections.
    static let maximumUnderWay = 100

    let message: UUID
    let claims: [ClaimedDelivery]
    /// Whether this batch tests if a broken credential works again.
    let isTrial: Bool
    /// Yields when unsent deliveries are to be released; finishes when all have been sent.
    let stops: AsyncStream<Void>
    private let stopping: AsyncStream<Void>.Continuation
    private let stopped = Atomic(false)
    /// The number of APNs deliveries that have not ended.
    private let left = Atomic(0)
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ message: UUID, _ claims: [ClaimedDelivery], isTrial: Bool = false) {
        self.message = message
        self.claims = claims
        self.isTrial = isTrial
        (stops, stopping) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    static func batches(_ claims: [ClaimedDelivery]) -> [DeliveryBatch] {
        Dictionary(grouping: claims, by: \.message).map { DeliveryBatch($0, $1) }
    }

    var isStopped: Bool { stopped.load(ordering: .relaxed) }

    func stop() {
        stopped.store(true, ordering: .relaxed)
        stopping.yield()
    }

    private func end() { stopping.finish() }

    /// Starts an unstructured task, so that a shutdown does not have to wait for slow answers.
    func begin(_ work: @escaping @Sendable (DeliveryBatch) async -> Void) {
        task.withLock { $0 = Task { await work(self) } }
    }

    /// Cancels the task of the batch; the answers still outstanding no longer matter.
    func cancel() { task.withLock { $0 }?.cancel() }

    /// Runs `body` for each claim. If the batch is stopped, claims that have not started are passed to `unsent`.
    /// Running bodies are cancelled only for APNs, whose client cancels just what it has not sent yet.
    func forEach(
        _ body: @escaping @Sendable (ClaimedDelivery) async -> Void,
        unsent: @escaping @Sendable (ClaimedDelivery) -> Void
    ) async {
        let apns = claims.filter { $0.device?.service == .apns }
        // Group by host, so that a slow host delays no other.
        let others = Dictionary(grouping: claims.filter { $0.device?.service != .apns }) { $0.device?.host ?? "" }
        await withTaskGroup { group in
            if !apns.isEmpty { group.addTask { await self.sendToAPNs(apns, body) } }
            for some in others.values { group.addTask { await self.sendToHost(some, body, unsent) } }
        }
        end()
    }

    /// The group discards its results, so the last delivery ends the loop that waits for a stop.
    private func sendToAPNs(
        _ claims: [ClaimedDelivery], _ body: @escaping @Sendable (ClaimedDelivery) async -> Void
    ) async {
        left.store(claims.count, ordering: .relaxed)
        await withDiscardingTaskGroup { group in
            for claim in claims {
                group.addTask {
                    await body(claim)
                    if self.left.subtract(1, ordering: .relaxed).newValue == 0 { self.end() }
                }
            }
            for await _ in self.stops { group.cancelAll() }
        }
    }

    private func sendToHost(
        _ claims: [ClaimedDelivery], _ body: @escaping @Sendable (ClaimedDelivery) async -> Void,
        _ unsent: @Sendable (ClaimedDelivery) -> Void
    ) async {
        await withTaskGroup(of: Void.self) { group in
            for (number, claim) in claims.enumerated() {
                if number >= Self.maximumUnderWay { await group.next() }
                guard !isStopped, !Task.isCancelled else {
                    unsent(claim)
                    continue
                }
                group.addTask { await body(claim) }
            }
        }
    }
}
