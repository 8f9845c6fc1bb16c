import MartletHTTP
import NIOCore
import Synchronization

/// A connection of a gateway by which one event goes to many of its streams at once; the gateway's `Relay` says how.
///
/// What is said of one stream alone goes by the stream's own connection. When a relay breaks, all its streams end, and
/// their clients come back by their cursors.
final class LiveRelay: Sendable {
    /// What a gateway may leave untaken.
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

    /// False when it is closed.
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

    /// Sends `frame` to those of the outboxes that keep up, and leaves it to the tasks of the others. On the event loop
    /// only.
    func hand(_ frame: LiveFrame, to outboxes: [Outbox]) {
        var streams: [(number: UInt32, own: UInt64)] = []
        streams.reserveCapacity(outboxes.count)
        for outbox in outboxes {
            if let stream = outbox.relayed { streams.append(stream) } else { outbox.push(frame) }
        }
        guard !streams.isEmpty else { return }
        let relayed = LiveFrame(minimumCapacity: 8 + 12 * streams.count + frame.size) { buffer in
            buffer.writeMultipleIntegers(UInt32(4 + 12 * streams.count + frame.size), UInt32(streams.count))
            for stream in streams { buffer.writeMultipleIntegers(stream.number, stream.own) }
            buffer.writeImmutableBuffer(frame.buffer)
        }
        backlog.value = direct.isWritable ? 0 : backlog.value + relayed.size
        if backlog.value > Self.maximumBacklog { direct.close() } else { direct.write(relayed.chunk) }
    }

    /// The first thing sent: names no stream.
    static let hello = ByteBuffer(bytes: [0, 0, 0, 4, 0, 0, 0, 0])
}

/// The relays that gateways have to this copy of the service.
final class LiveRelays: Sendable {
    /// A gateway has one for each of its event loops.
    private static let maximumCount = 4_096

    private let relays = Mutex<[String: LiveRelay]>([:])

    /// False when there are too many, or the id is taken.
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

    /// The relay and the number in it that a request for a stream names; nil when this copy has no such relay.
    func find(_ text: String) -> (relay: LiveRelay, number: UInt32)? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let number = UInt32(parts[1]), let relay = relays.withLock({ $0[String(parts[0])] })
        else { return nil }
        return (relay, number)
    }
}
