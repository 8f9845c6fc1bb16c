import CoreMetrics
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import ServiceLifecycle
import Synchronization

/// The live subscribers of this copy of the service.
final class Live: Sendable {
    /// Limits on the number of open streams.
    struct Limits: Sendable {
        var subscribers = 10_000
        var subscribersPerApp = 5_000
    }

    let changes: ChangeStore
    let relays = LiveRelays()
    private let rights: RightsStore
    private let signal: ChangeSignal
    private let limits: Limits
    private let state = Mutex(State())
    private let gauge = Gauge(label: "martlet.storage.live.subscribers")
    private let relayedGauge = Gauge(label: "martlet.storage.live.relayed")

    private struct State {
        var tails: [AppSchema: LiveTail] = [:]
        var counts: [String: Int] = [:]
        var count = 0
        /// The number of streams that use a relay; included in `count`.
        var relayed = 0
        var last = 0
    }

    init(changes: ChangeStore, rights: RightsStore, signal: ChangeSignal, limits: Limits = Limits()) {
        self.changes = changes
        self.rights = rights
        self.signal = signal
        self.limits = limits
    }

    /// - Throws: The errors that would prevent `follow` from starting.
    func check(_ request: LiveRequest, as principal: Principal, after cursor: ChangeCursor?, in space: AppSchema)
        async throws
    {
        let rights = try await rights.rights(of: principal, in: space, for: [request.collection: [.find]])
        _ = try request.shape(rights, in: space)
        _ = try await changes.end(of: request.collection, after: cursor, in: space)
        try state.withLock { try check(space, $0) }
    }

    /// Writes events until the reader disconnects, is too slow or loses all access, or until the service stops.
    func follow(
        _ request: LiveRequest, as principal: Principal, after cursor: ChangeCursor?, in space: AppSchema,
        _ writer: inout any ResponseBodyWriter, _ direct: DirectBody? = nil,
        relay: (relay: LiveRelay, number: UInt32)? = nil
    ) async throws {
        let (tail, number) = try register(in: space)
        defer { unregister(in: space) }
        // A relay requires a direct connection, which reports when everything that the task sent has been written.
        let relay = direct == nil ? nil : relay
        let outbox = Outbox(direct, relay: relay)
        // From here on all output goes through the writer.
        defer {
            outbox.finish()
            if let relay {
                relay.relay.remove(relay.number)
                countRelayed(-1)
            }
        }
        if let relay {
            countRelayed(1)
            // The relay was closed in the meantime; the client reconnects.
            guard relay.relay.add(outbox, as: relay.number) else { return }
        }
        direct?.onClose { [weak outbox] in outbox?.finish() }
        do {
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { await Self.fill(outbox, tail, request, principal, cursor, number) }
                try await Self.write(outbox, to: &writer)
                tasks.cancelAll()
            }
            await tail.leave(number)
        } catch {
            await tail.leave(number)
            throw error
        }
    }

    /// Ends every stream.
    func finish() async {
        for tail in state.withLock({ Array($0.tails.values) }) { await tail.finish() }
    }

    private static func fill(
        _ outbox: Outbox, _ tail: LiveTail, _ request: LiveRequest, _ principal: Principal, _ cursor: ChangeCursor?,
        _ number: Int
    ) async {
        do {
            try await tail.join(request, as: principal, after: cursor, as: number, outbox)
        } catch let problem as ServiceError where problem.isCallersFault {
            outbox.finish(with: .error(problem))
        } catch {
            // A temporary failure: the client reconnects with its cursor, as after any other interruption.
            outbox.finish()
        }
    }

    private static func write(_ outbox: Outbox, to writer: inout any ResponseBodyWriter) async throws {
        try await withGracefulShutdownHandler {
            while let frames = await outbox.next() { try await writer.write(contentsOf: frames) }
        } onGracefulShutdown: {
            outbox.finish()
        }
    }

    private func check(_ space: AppSchema, _ state: State) throws {
        guard state.count < limits.subscribers else {
            throw ServiceError(.unavailable, "The server has reached its maximum number of subscribers.")
        }
        guard state.counts[space.schema, default: 0] < limits.subscribersPerApp else {
            throw ServiceError(
                .tooManyRequests, "The app has reached its maximum of \(limits.subscribersPerApp) subscribers.")
        }
    }

    private func register(in space: AppSchema) throws -> (LiveTail, number: Int) {
        let (tail, number, count) = try state.withLock { state in
            try check(space, state)
            state.count += 1
            state.last += 1
            state.counts[space.schema, default: 0] += 1
            let tail = state.tails[space] ?? LiveTail(space: space, changes: changes, rights: rights, signal: signal)
            state.tails[space] = tail
            return (tail, state.last, state.count)
        }
        gauge.record(count)
        return (tail, number)
    }

    private func countRelayed(_ change: Int) {
        let count = state.withLock { state in
            state.relayed += change
            return state.relayed
        }
        relayedGauge.record(count)
    }

    private func unregister(in space: AppSchema) {
        let count = state.withLock { state in
            state.count -= 1
            state.counts[space.schema, default: 1] -= 1
            if state.counts[space.schema] == 0 {
                state.counts[space.schema] = nil
                state.tails[space] = nil
            }
            return state.count
        }
        gauge.record(count)
    }
}
