import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore
import ServiceLifecycle
import Synchronization

/// Server-sent events (WHATWG HTML §9.2) about the tickets of a space, for open boards.
///
/// An event names the tickets that changed since the previous one. The table is queried after each notification and at
/// every heartbeat, so a lost notification delays an event by a few seconds. A stream ends after `lifetime`; the
/// client's rights are checked again when it reconnects.
final class TicketStreams: Service {
    struct Limits: Sendable {
        var streams = 1_000
        var streamsPerSpace = 200
        var heartbeat: Duration = .seconds(20)
        var lifetime: Duration = .seconds(900)
    }

    /// If more tickets have changed, the event says only that all may have.
    static let maximumNumbers = 200

    private struct State {
        var last = 0
        var followers: [Int32: [Int: AsyncStream<Void>.Continuation]] = [:]
        var isStopped = false
    }

    private let tickets: TicketStore
    private let limits: Limits
    private let state = Mutex(State())

    init(tickets: TicketStore, limits: Limits = Limits()) {
        self.tickets = tickets
        self.limits = limits
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            for await notification in self.tickets.postgres.listen(TicketStore.channel) {
                self.wake(notification.mayHaveMissed ? nil : Int32(notification.payload))
            }
        }
        let followers = state.withLock { state in
            state.isStopped = true
            return state.followers.values.flatMap(\.values)
        }
        for follower in followers { follower.finish() }
    }

    /// Wakes the streams of a space, or all streams if `space` is nil.
    private func wake(_ space: Int32?) {
        let followers = state.withLock { state in
            if let space { return Array(state.followers[space, default: [:]].values) }
            return state.followers.values.flatMap(\.values)
        }
        for follower in followers { follower.yield() }
    }

    /// A stream of changes after a generation, or from now on if `generation` is nil.
    ///
    /// - Throws: `unavailable`, `too-many-requests` beyond the limits.
    func response(_ space: Space, after generation: Int64?) async throws -> Response {
        let (changes, permit) = try enter(space)
        let start = if let generation { generation } else { try await tickets.generation(of: space) }
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody { [self] writer in
                defer { permit.leave() }
                var last = start
                // Sends changes since an earlier stream, or a comment that shows the client that the stream is open.
                try await writer.write(ByteBuffer(string: try await event(space, &last) ?? ":\n\n"))
                for await isChange in self.limited(changes) {
                    if let event = try await event(space, &last) {
                        try await writer.write(ByteBuffer(string: event))
                    } else if !isChange {
                        try await writer.write(ByteBuffer(string: ":\n\n"))
                    }
                }
                try await writer.finish(nil)
            })
    }

    /// The next event; nil if nothing has changed. If the generation is older than the client's, as after a restore,
    /// all tickets may have changed.
    private func event(_ space: Space, _ last: inout Int64) async throws -> String? {
        let changes = try await tickets.changes(in: space, after: last, limit: Self.maximumNumbers)
        guard changes.generation != last else { return nil }
        let numbers = changes.generation < last ? nil : changes.numbers
        last = changes.generation
        let data = numbers.map { #""tickets":[\#($0.map(String.init).joined(separator: ","))]"# } ?? #""all":true"#
        return "id: \(changes.generation)\nevent: changed\ndata: {\"generation\":\(changes.generation),\(data)}\n\n"
    }

    /// Yields true for each change and false at each heartbeat. Ends after the lifetime.
    private func limited(_ changes: AsyncStream<Void>) -> AsyncStream<Bool> {
        let (stream, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(2))
        let task = Task { [limits] in
            await withGracefulShutdownHandler {
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for await _ in changes { continuation.yield(true) }
                    }
                    group.addTask { try? await Task.sleep(for: limits.lifetime) }
                    group.addTask {
                        while !Task.isCancelled {
                            try? await Task.sleep(for: limits.heartbeat)
                            continuation.yield(false)
                        }
                    }
                    _ = await group.next()
                    group.cancelAll()
                }
                continuation.finish()
            } onGracefulShutdown: {
                continuation.finish()
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    private func enter(_ space: Space) throws -> (AsyncStream<Void>, StreamPermit) {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = try state.withLock { state in
            guard !state.isStopped, state.followers.values.reduce(0, { $0 + $1.count }) < limits.streams else {
                throw ServiceError(.unavailable, "This instance has reached its limit of streams.")
            }
            guard state.followers[space.id, default: [:]].count < limits.streamsPerSpace else {
                throw ServiceError(
                    .tooManyRequests, "The app has reached its limit of \(limits.streamsPerSpace) streams.")
            }
            state.last += 1
            state.followers[space.id, default: [:]][state.last] = continuation
            return state.last
        }
        return (stream, StreamPermit { [weak self] in self?.leave(space, number) })
    }

    private func leave(_ space: Space, _ number: Int) {
        let continuation = state.withLock { state in
            let continuation = state.followers[space.id]?.removeValue(forKey: number)
            if state.followers[space.id]?.isEmpty == true { state.followers[space.id] = nil }
            return continuation
        }
        continuation?.finish()
    }
}
