import Foundation
import Synchronization

/// Deliveries of one message that were claimed together.
final class DeliveryBatch: Sendable {
    /// Of FCM, and of each host of browsers' services, so many are under way of one batch; APNs' client has queue and
    /// connections of its own.
    static let maximumUnderWay = 100

    let message: UUID
    let claims: [ClaimedDelivery]
    /// To see whether a credential that is broken is good again.
    let isTrial: Bool
    /// Ends when all have been sent; an element: give back what has not left.
    let stops: AsyncStream<Void>
    private let stopping: AsyncStream<Void>.Continuation
    private let stopped = Atomic(false)
    /// Of those that APNs' client has.
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

    /// Runs on its own: whoever ends does not wait for answers that take too long.
    func begin(_ work: @escaping @Sendable (DeliveryBatch) async -> Void) {
        task.withLock { $0 = Task { await work(self) } }
    }

    /// Nothing that comes of it is of interest any more.
    func cancel() { task.withLock { $0 }?.cancel() }

    /// Runs `body` for each claim. What has been stopped before its turn comes is handed to `unsent`; a body that APNs'
    /// client has not sent yet is cancelled, which is safe there and nowhere else.
    func forEach(
        _ body: @escaping @Sendable (ClaimedDelivery) async -> Void,
        unsent: @escaping @Sendable (ClaimedDelivery) -> Void
    ) async {
        let apns = claims.filter { $0.device?.service == .apns }
        // One host that is slow holds up no other.
        let others = Dictionary(grouping: claims.filter { $0.device?.service != .apns }) { $0.device?.host ?? "" }
        await withTaskGroup { group in
            if !apns.isEmpty { group.addTask { await self.sendAll(apns, body) } }
            for some in others.values { group.addTask { await self.sendSome(some, body, unsent) } }
        }
        end()
    }

    /// Nobody waits for each of them: the last one ends what waits for a stop.
    private func sendAll(_ claims: [ClaimedDelivery], _ body: @escaping @Sendable (ClaimedDelivery) async -> Void) async
    {
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

    private func sendSome(
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
