import Foundation
import Synchronization

/// Deliveries of one message that were claimed together.
final class DeliveryBatch: Sendable {
    /// Of FCM and browsers' services so many are under way of one batch; APNs' client has queue and connections of its own.
    static let maximumUnderWay = 100

    let message: UUID
    let claims: [ClaimedDelivery]
    /// Ends when all have been sent; an element: give back what has not left.
    let stops: AsyncStream<Void>
    private let stopping: AsyncStream<Void>.Continuation
    private let stopped = Atomic(false)

    init(_ message: UUID, _ claims: [ClaimedDelivery]) {
        self.message = message
        self.claims = claims
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

    func end() { stopping.finish() }

    /// Runs `body` for each claim. What has been stopped before its turn comes is handed to `unsent`; a body that APNs' client has not sent yet is
    /// cancelled, which is safe there and nowhere else.
    func forEach(_ body: @escaping @Sendable (ClaimedDelivery) async -> Void, unsent: @escaping @Sendable (ClaimedDelivery) -> Void) async {
        let apns = claims.filter { $0.device?.service == .apns }
        let others = claims.filter { $0.device?.service != .apns }
        await withTaskGroup { group in
            if !apns.isEmpty { group.addTask { await self.sendAll(apns, body) } }
            if !others.isEmpty { group.addTask { await self.sendSome(others, body, unsent) } }
        }
        end()
    }

    private func sendAll(_ claims: [ClaimedDelivery], _ body: @escaping @Sendable (ClaimedDelivery) async -> Void) async {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await _ in self.stops { return true }
                return true
            }
            for claim in claims {
                group.addTask {
                    await body(claim)
                    return false
                }
            }
            var left = claims.count
            for await isStop in group {
                if isStop { group.cancelAll() } else { left -= 1 }
                if left == 0 { end() }
            }
        }
    }

    private func sendSome(
        _ claims: [ClaimedDelivery], _ body: @escaping @Sendable (ClaimedDelivery) async -> Void, _ unsent: @Sendable (ClaimedDelivery) -> Void
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
