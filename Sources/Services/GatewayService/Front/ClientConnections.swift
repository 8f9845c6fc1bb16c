import Metrics
import NIOCore
import Synchronization

/// Counts client connections across all event loops, in total and per address.
///
/// At a limit, a new connection evicts the longest idle connection of the busiest address, so that clients with few
/// connections do not suffer from a client with many. A connection is never evicted while it has a request in progress
/// or an answer that its client has not read to the end.
final class ClientConnections: Sendable {
    /// A connection's share of the limits, held while it is open.
    final class Permit: Sendable {
        /// Nil if the connection counts towards the total only.
        fileprivate let address: IPAddress?
        private let channel: any Channel
        private let requestsInProgress = Atomic<Int>(0)
        private let lastUse: Atomic<UInt64>

        fileprivate init(_ channel: any Channel, _ address: IPAddress?) {
            self.channel = channel
            self.address = address
            lastUse = Atomic(NIODeadline.now().uptimeNanoseconds)
        }

        /// Marks the start of a request; every call is paired with one of `ended(at:)`. Call both on the connection's
        /// event loop.
        func began() { requestsInProgress.wrappingAdd(1, ordering: .relaxed) }

        func ended(at now: NIODeadline) {
            requestsInProgress.wrappingSubtract(1, ordering: .relaxed)
            lastUse.store(now.uptimeNanoseconds, ordering: .relaxed)
        }

        /// Keeps the connection busy until `written` succeeds or the time limit passes. Closing it earlier would cut
        /// off the answer.
        func keepBusy(until written: EventLoopFuture<Void>, atMost limit: TimeAmount) {
            began()
            let timeUp = channel.eventLoop.scheduleTask(in: limit) {}
            written.whenComplete { _ in timeUp.cancel() }
            timeUp.futureResult.whenComplete { _ in self.ended(at: .now()) }
        }

        var isIdle: Bool { requestsInProgress.load(ordering: .relaxed) == 0 }
        fileprivate var idleSince: UInt64 { lastUse.load(ordering: .relaxed) }

        /// Closes the connection, or calls `keep` if a request has arrived in the meantime.
        fileprivate func close(unlessBusy keep: @escaping @Sendable () -> Void) {
            channel.eventLoop.execute { [self] in
                // If the connection has closed in the meantime, its permit was already removed and must not be added
                // again.
                if isIdle || !channel.isActive { channel.close(promise: nil) } else { keep() }
            }
        }
    }

    private struct State {
        var count = 0
        var permits: [IPAddress: [ObjectIdentifier: Permit]] = [:]
    }

    private let maximum: Int
    private let maximumPerAddress: Int
    private let state = Mutex(State())
    private let gauge = Gauge(label: "martlet_gateway_connections")
    private let refusals = ["all", "address"].map {
        Counter(label: "martlet_gateway_connections_refused", dimensions: [("limit", $0)])
    }
    private let evictions = Counter(label: "martlet_gateway_connections_evicted")

    init(maximum: Int, maximumPerAddress: Int) {
        self.maximum = maximum
        self.maximumPerAddress = maximumPerAddress
    }

    var count: Int { state.withLock { $0.count } }

    /// Returns a permit for an accepted connection; give it back once the connection is closed. Nil if there is no
    /// room.
    ///
    /// - Parameter address: Nil for a trusted proxy, which serves many clients.
    func enter(_ channel: any Channel, from address: IPAddress?) -> Permit? {
        let permit = Permit(channel, address)
        var isAddressFull = false
        let (hasRoom, evicted) = state.withLock { state -> (Bool, Permit?) in
            let own = address.flatMap { state.permits[$0]?.count } ?? 0
            isAddressFull = own >= maximumPerAddress
            var evicted: Permit?
            if isAddressFull || state.count >= maximum {
                let leastRecentlyUsed =
                    isAddressFull
                    ? address.flatMap { Self.leastRecentlyUsed(state.permits[$0]) } : Self.leastRecentlyUsed(state)
                guard let leastRecentlyUsed else { return (false, nil) }
                Self.remove(leastRecentlyUsed, &state)
                evicted = leastRecentlyUsed
            }
            Self.add(permit, &state)
            return (true, evicted)
        }
        guard hasRoom else {
            refusals[isAddressFull ? 1 : 0].increment()
            return nil
        }
        if let evicted {
            evictions.increment()
            // A request that arrived in the meantime is still answered, so the limit is briefly exceeded by one
            // connection.
            evicted.close { [self] in state.withLock { Self.add(evicted, &$0) } }
        }
        return permit
    }

    func leave(_ permit: Permit) { state.withLock { Self.remove(permit, &$0) } }

    func report() { gauge.record(count) }

    /// Belongs to the busiest address, or, if all of its connections are busy, to another one with more than one
    /// connection.
    private static func leastRecentlyUsed(_ state: State) -> Permit? {
        leastRecentlyUsed(state.permits.values.max { $0.count < $1.count })
            ?? state.permits.values.lazy.compactMap { leastRecentlyUsed($0) }.min { $0.idleSince < $1.idleSince }
    }

    /// Nil if all connections are busy, or if the address has only one, which is never evicted.
    private static func leastRecentlyUsed(_ permits: [ObjectIdentifier: Permit]?) -> Permit? {
        guard let permits, permits.count > 1 else { return nil }
        return permits.values.lazy.filter(\.isIdle).min { $0.idleSince < $1.idleSince }
    }

    /// The key of the permits that have no address.
    private static let noAddress = IPAddress(high: 0, low: 0)

    private static func add(_ permit: Permit, _ state: inout State) {
        guard
            state.permits[permit.address ?? noAddress, default: [:]].updateValue(
                permit, forKey: ObjectIdentifier(permit))
                == nil
        else { return }
        state.count += 1
    }

    private static func remove(_ permit: Permit, _ state: inout State) {
        let address = permit.address ?? noAddress
        guard state.permits[address]?.removeValue(forKey: ObjectIdentifier(permit)) != nil else { return }
        if state.permits[address]?.isEmpty == true { state.permits[address] = nil }
        state.count -= 1
    }
}

/// Limits the descriptors for upstream connections across all event loops. Requests beyond the limit are refused,
/// because a process without descriptors fails.
final class UpstreamDescriptors: Sendable {
    private let maximum: Int
    private let used = Atomic<Int>(0)

    init(maximum: Int) { self.maximum = maximum }

    /// Takes one descriptor; give it back once the connection is closed. False if none is left.
    func take() -> Bool {
        if used.wrappingAdd(1, ordering: .relaxed).newValue <= maximum { return true }
        giveBack()
        return false
    }

    /// Reuses the descriptor of a connection that was just closed and has not given it back yet.
    func takeFreed() { used.wrappingAdd(1, ordering: .relaxed) }

    func giveBack() { used.wrappingSubtract(1, ordering: .relaxed) }
}
