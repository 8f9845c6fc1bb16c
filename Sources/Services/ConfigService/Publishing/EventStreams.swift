import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore
import ServiceLifecycle
import Synchronization

/// Server-sent events (WHATWG HTML §9.2) about the live documents of a space, for a limited number of clients.
final class EventStreams: Sendable {
    struct Limits: Sendable {
        var streams = 10_000
        var streamsPerApp = 5_000
    }

    /// The interval of comments that keep proxies from closing an idle connection.
    private static let heartbeat: Duration = .seconds(25)

    private let live: LiveDocuments
    private let limits: Limits
    private let counts = Mutex<[String: Int]>([:])

    init(live: LiveDocuments, limits: Limits = Limits()) {
        self.live = live
        self.limits = limits
    }

    /// A stream that begins with the current state and continues with its changes, until the client disconnects or the
    /// service stops.
    ///
    /// - Parameters:
    ///   - first: The first event, made from the current state; nil for none.
    ///   - next: An event made from the old and the new state; nil if the change does not concern the client.
    /// - Throws: `unavailable`, `too-many-requests` beyond the limits.
    func response(
        _ space: AppSpace, first: @escaping @Sendable (LiveSpace) -> ServerSentEvent?,
        next: @escaping @Sendable (_ old: LiveSpace, _ new: LiveSpace) -> ServerSentEvent?
    ) async throws -> Response {
        try enter(space)
        let (now, changes) = try await undoing({ self.leave(space) }) { try await self.live.changes(space) }
        let permit = StreamPermit { [weak self] in self?.leave(space) }
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                defer { permit.leave() }
                try await writer.write(ByteBuffer(string: first(now)?.text ?? ":\n\n"))
                var last = now
                for await change in Self.withHeartbeats(changes) {
                    guard let new = change else {
                        try await writer.write(ByteBuffer(string: ":\n\n"))
                        continue
                    }
                    if let event = next(last, new) { try await writer.write(ByteBuffer(string: event.text)) }
                    last = new
                }
                try await writer.finish(nil)
            })
    }

    /// The changes, and nil at every heartbeat.
    private static func withHeartbeats(_ changes: AsyncStream<LiveSpace>) -> AsyncStream<LiveSpace?> {
        let (stream, continuation) = AsyncStream.makeStream(of: LiveSpace?.self, bufferingPolicy: .bufferingNewest(4))
        let task = Task {
            await withGracefulShutdownHandler {
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for await change in changes { continuation.yield(change) }
                        continuation.finish()
                    }
                    group.addTask {
                        while !Task.isCancelled {
                            try? await Task.sleep(for: heartbeat)
                            continuation.yield(nil)
                        }
                    }
                    _ = await group.next()
                    group.cancelAll()
                }
            } onGracefulShutdown: {
                continuation.finish()
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    private func enter(_ space: AppSpace) throws {
        try counts.withLock { counts in
            guard counts.values.reduce(0, +) < limits.streams else {
                throw ServiceError(
                    .unavailable, "This instance has reached its limit of event streams; try again later.")
            }
            guard counts[space.appID, default: 0] < limits.streamsPerApp else {
                throw ServiceError(
                    .tooManyRequests,
                    "The app has reached its limit of \(limits.streamsPerApp) event streams on this instance.")
            }
            counts[space.appID, default: 0] += 1
        }
    }

    private func leave(_ space: AppSpace) {
        counts.withLock { counts in
            counts[space.appID] = counts[space.appID].flatMap { $0 > 1 ? $0 - 1 : nil }
        }
    }

    private func undoing<T>(_ undo: () -> Void, _ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch {
            undo()
            throw error
        }
    }
}

/// A server-sent event.
struct ServerSentEvent: Sendable {
    var id: String?
    var event: String
    /// Must not contain line breaks.
    var data: String

    var text: String { (id.map { "id: \($0)\n" } ?? "") + "event: \(event)\ndata: \(data)\n\n" }
}
