import HTTPTypes
import Hummingbird
import MartletCore
import MartletPostgres
import MartletTesting
import NIOCore
import Synchronization

@testable import StorageService

/// A subscriber in this process: reads events like a client, and resumes by its cursor after each break.
final class LiveStream: Sendable {
    struct Event: Sendable, Equatable {
        var name: String
        var id: String
        var data: JSONValue

        var objectID: String? { if case .string(let id) = data["id"] { id } else { nil } }
    }

    private struct State {
        var events: [Event] = []
        var pending = ""
        var cursor: String?
    }

    private let state = Mutex(State())

    var events: [Event] { state.withLock { $0.events.filter { $0.name != "open" } } }
    var cursor: String? { state.withLock { $0.cursor } }
    /// Lines such as `create a`.
    var lines: [String] { events.map { "\($0.name) \($0.objectID ?? "-")" } }

    /// Follows until the stream ends or the task is cancelled.
    ///
    /// - Parameter stall: Nothing is read before it ends.
    func follow(
        _ live: Live, _ collection: String, where filter: String? = nil, keys: [String]? = nil, as principal: Principal,
        since: String? = nil, stall: BlackHole? = nil
    ) async throws {
        let request = LiveRequest(collection: try CollectionName(collection), filter: filter, keys: keys)
        let space = try AppSchema(principal)
        let cursor = try (since ?? self.cursor).map {
            try live.changes.signer.cursor($0, of: request.collection, in: space)
        }
        try await live.check(request, as: principal, after: cursor, in: space)
        state.withLock { $0.pending = "" }
        var writer: any ResponseBodyWriter = Writer(stream: self, stall: stall)
        try await live.follow(request, as: principal, after: cursor, in: space, &writer)
    }

    /// Waits until there are `count` events.
    func wait(for count: Int, within limit: Duration = .seconds(120)) async throws {
        try await eventually("there are \(count) events", within: limit) { events.count >= count }
    }

    /// Waits until it is subscribed.
    func waitForOpen() async throws {
        try await eventually("the stream is open") { cursor != nil }
    }

    private func take(_ text: String) {
        state.withLock { state in
            state.pending += text
            while let end = state.pending.firstRange(of: "\n\n") {
                let block = state.pending[..<end.lowerBound]
                var (name, id, data) = ("", state.cursor ?? "", "")
                for line in block.split(separator: "\n") {
                    if line.hasPrefix("id: ") { id = String(line.dropFirst(4)) }
                    if line.hasPrefix("event: ") { name = String(line.dropFirst(7)) }
                    if line.hasPrefix("data: ") { data = String(line.dropFirst(6)) }
                }
                state.cursor = id
                if !name.isEmpty, let value = try? JSONValue(parsing: data.utf8) {
                    state.events.append(Event(name: name, id: id, data: value))
                }
                state.pending.removeSubrange(..<end.upperBound)
            }
        }
    }

    private struct Writer: ResponseBodyWriter {
        let stream: LiveStream
        let stall: BlackHole?

        mutating func write(_ buffer: ByteBuffer) async throws {
            try Task.checkCancellation()
            await stall?.call()
            stream.take(String(buffer: buffer))
        }

        consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }
}
