import Foundation
import Synchronization

/// The batches being sent.
final class RunningBatches: Sendable {
    private struct State {
        var batches: [ObjectIdentifier: DeliveryBatch] = [:]
        var isStopping = false
    }

    private let state = Mutex(State())

    /// Whether the instance shuts down, so that nothing more may be claimed.
    var isStopping: Bool { state.withLock(\.isStopping) }

    func begin(_ batch: DeliveryBatch, _ send: @escaping @Sendable (DeliveryBatch) async -> Void) {
        state.withLock { $0.batches[ObjectIdentifier(batch)] = batch }
        batch.begin { batch in
            // A shutdown may have begun after the claim and before the batch was registered.
            if self.isStopping { batch.stop() }
            await send(batch)
            self.state.withLock { $0.batches[ObjectIdentifier(batch)] = nil }
        }
    }

    /// Stops all batches, now and later.
    func stop() {
        let batches = state.withLock { state in
            state.isStopping = true
            return Array(state.batches.values)
        }
        for batch in batches { batch.stop() }
    }

    func stop(of messages: Set<UUID>) {
        let batches = state.withLock { state in state.batches.values.filter { messages.contains($0.message) } }
        for batch in batches { batch.stop() }
    }

    func cancel() {
        for batch in state.withLock({ Array($0.batches.values) }) { batch.cancel() }
    }
}
