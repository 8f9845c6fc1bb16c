import MartletHTTP
import NIOCore
import Synchronization

/// A connection from a gateway by which a single event reaches many of its streams. The gateway's `Relay` describes the
/// protocol.
///
/// Frames for one stream alone use that stream's own connection. If a relay breaks, all its streams end, and their
/// clients reconnect with their cursors.
final class LiveRelay: Sendable {
    /// The number of bytes that a gateway may leave unread.
    private static let maximumBacklog = 64 << 20

    let direct: DirectBody
    private let state = Mutex(State())
    private let backlog: NIOLoopBoundBox<Int>

    private struct State {
        var outboxes: [UInt32: Outbox] = [:]
        var isClosed = false
    }

    init(_ direct: DirectBody) {
        self.direct = direct
        backlog = .makeBoxSendingValue(0, eventLoop: direct.eventLoop)
    }

    /// Returns false if the relay is closed.
    func add(_ outbox: Outbox, as number: UInt32) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            state.outboxes[number] = outbox
            return true
        }
    }

    func remove(_ number: UInt32) {
        state.withLock { $0.outboxes[number] = nil }
    }

    func close() {
        let outboxes = state.withLock { state in
            state.isClosed = true
            defer { state.outboxes = [:] }
            return state.outboxes.values
        }
        for outbox in outboxes { outbox.finish() }
    }

    /// Sends `frame` through the relay to the outboxes that can be reached that way (see `Outbox.relayed`), and pushes
    /// it to the others, whose own tasks send it. Must be called on the event loop.
    func deliver(_ frame: LiveFrame, to outboxes: [Outbox]) {
        var streams: [(number: UInt32, taskBytes: UInt64)] = []
        streams.reserveCapacity(outboxes.count)
        for outbox in outboxes {
            if let stream = outbox.relayed { streams.append(stream) } else { outbox.push(frame) }
        }
        guard !streams.isEmpty else { return }
        let relayed = LiveFrame(minimumCapacity: 8 + 12 * streams.count + frame.size) { buffer in
            buffer.writeMultipleIntegers(UInt32(4 + 12 * streams.count + frame.size), UInt32(streams.count))
            for stream in streams { buffer.writeMultipleIntegers(stream.number, stream.taskBytes) }
            buffer.writeImmutableBuffer(frame.buffer)
        }
        backlog.value = direct.isWritable ? 0 : backlog.value + relayed.size
        if backlog.value > Self.maximumBacklog { direct.close() } else { direct.write(relayed.chunk) }
    }

    /// The first bytes sent, which name no stream.
    static let hello = ByteBuffer(bytes: [0, 0, 0, 4, 0, 0, 0, 0])
}

/// The relays of all gateways to this copy of the service.
final class LiveRelays: Sendable {
    /// Each gateway opens one per event loop.
    private static let maximumCount = 4_096

    private let relays = Mutex<[String: LiveRelay]>([:])

    /// Returns false if there are too many relays or the id is in use.
    func add(_ relay: LiveRelay, as id: String) -> Bool {
        relays.withLock { relays in
            guard relays.count < Self.maximumCount, relays[id] == nil else { return false }
            relays[id] = relay
            return true
        }
    }

    func remove(_ id: String) {
        relays.withLock { $0[id] = nil }
    }

    /// The relay and stream number named by a request; nil if this copy has no such relay.
    func find(_ text: String) -> (relay: LiveRelay, number: UInt32)? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = UInt32(parts[1]), let relay = relays.withLock({ $0[String(parts[0])] })
        else { return nil }
        return (relay, number)
    }
}
