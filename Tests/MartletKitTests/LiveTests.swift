import Foundation
import Testing

@testable import MartletKit

struct ServerSentEventsTests {
    static let text =
        "\u{FEFF}retry: 1500\nid: a\nevent: open\ndata: {}\n\n:comment\r\nid: b\r\n\r\nevent: x\rdata: 1\rdata\r\r:\n\ndata:é\nid\n\n"

    @Test(arguments: [1, 2, 3, 7, 1_000])
    func `events are the same however they are split`(size: Int) throws {
        let bytes = Array(Self.text.utf8)
        var parser = ServerSentEvents()
        var events: [ServerSentEvents.Event] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            events += try parser.parse(Data(bytes[start..<min(start + size, bytes.count)]))
        }
        #expect(
            events == [
                .init(name: "open", data: "{}", id: "a", retry: 1.5), .init(data: nil, id: "b"),
                .init(name: "x", data: "1\n", id: "b"), .init(data: "é", id: ""),
            ])
    }

    @Test func `an endless event is refused`() {
        var parser = ServerSentEvents()
        let piece = Data(repeating: 97, count: 1 << 20)
        #expect(throws: MartletError.self) { for _ in 0..<17 { _ = try parser.parse(piece) } }
    }
}

struct JSONOrderTests {
    @Test func `values are sorted as the server does`() throws {
        let sorted: [JSON?] = [.null, "", "A", "a", "é", -1, 0.5, 1, 1e9, false, true, [1], ["a": 1], nil]
        for (left, right) in zip(sorted, sorted.dropFirst()) {
            #expect(JSONOrder.compare(left, right) < 0 && JSONOrder.compare(right, left) > 0)
            #expect(JSONOrder.compare(left, left) == 0)
        }
    }
}

/// These tests run against a real server.
struct LiveTests {
    struct Note: Storable, Equatable {
        static let collection = TestServer.name("KitNotes")
        var text: String
        var room: String
        var n: Int?
    }

    let storage: Storage
    /// A room of its own for each test, in one collection.
    let room = UUID().uuidString

    init() async throws {
        storage = try await TestServer.device().storage
        // A collection that does not exist has no changes.
        try await storage.create(Note(text: "first", room: "none"))
    }

    /// A device, and whether its live stream is open.
    private func observed() async throws -> (Martlet, Locked<Bool>) {
        let observed = ObservedTransport(URLSessionTransport())
        return (try await TestServer.device { $0.transport = observed }, observed.isOpen)
    }

    private var query: Query<Note> { Note.query().where(\.room == room) }

    @Test func `objects enter, change, leave and are deleted`() async throws {
        let start = try await storage.changes(in: query, since: nil).cursor
        var changes = storage.live(query, since: start).makeAsyncIterator()
        var note = try await storage.create(Note(text: "a", room: room))
        let created = try #require(try await changes.next())
        #expect(created.kind == .created && created.id == note.id && created.object == note)
        note.text = "b"
        note = try await storage.save(note)
        var next = try await changes.next()
        #expect(next?.kind == .updated && next?.object == note)
        note = try await storage.update(note, .set(\.room, to: "other"))
        next = try await changes.next()
        #expect(next?.kind == .left && next?.matches == false && next?.object == note)
        note = try await storage.update(note, .set(\.room, to: room))
        #expect(try await changes.next()?.kind == .entered)
        try await storage.delete(note)
        next = try await changes.next()
        #expect(next?.kind == .deleted && next?.object?.text == "b")
    }

    @Test func `a stream resumes by itself and loses nothing`() async throws {
        let breaking = BreakingTransport(URLSessionTransport())
        let device = try await TestServer.device {
            $0.transport = breaking
            $0.clock.sleep = { _ in try await Task.sleep(nanoseconds: 20_000_000) }
        }
        let start = try await storage.changes(in: query, since: nil).cursor
        let count = 60
        let reader = Task {
            var seen: [Int] = []
            for try await change in device.storage.live(query, since: start) {
                seen.append(try #require(change.object?.n))
                if seen.count == count { break }
            }
            return seen
        }
        for n in 0..<count { try await storage.create(Note(text: "", room: room, n: n)) }
        #expect(try await reader.value == Array(0..<count))
        #expect(breaking.connections > 3)
    }

    @Test func `without a position, a stream begins with new changes`() async throws {
        let (device, isOpen) = try await observed()
        let reader = Task { () -> String? in
            for try await change in device.storage.live(query) { return change.object?.text }
            return nil
        }
        try await TestServer.wait { isOpen.withLock { $0 } }
        try await storage.create(Note(text: "seen", room: room))
        #expect(try await reader.value == "seen")
    }

    @Test func `a live stream ends with its task, and permanent errors are thrown`() async throws {
        let (device, isOpen) = try await observed()
        let reader = Task { for try await _ in device.storage.live(query) {} }
        try await TestServer.wait { isOpen.withLock { $0 } }
        reader.cancel()
        try await reader.value
        var wrong = storage.live(query, since: ChangeCursor(rawValue: "MXx")).makeAsyncIterator()
        await #expect { try await wrong.next() } throws: { ($0 as? MartletError)?.code == .invalidParameter }
    }

    @Test func `the feed gives all objects, then the changes`() async throws {
        let notes = try await storage.create(contentsOf: (0..<5).map { Note(text: "", room: room, n: $0) })
        let first = try await storage.changes(in: query, since: nil, limit: 3)
        #expect(first.changed.count == 3 && first.hasMore)
        let second = try await storage.changes(in: query, since: first.cursor)
        #expect(Set((first.changed + second.changed).map(\.id)) == Set(notes.map(\.id)) && !second.hasMore)

        var feed = storage.changeFeed(in: query, since: second.cursor).makeAsyncIterator()
        try await storage.delete(notes[0])
        try await storage.update(notes[1], .set(\.n, to: 100))
        var changed: [Int?] = [], deleted: [String] = []
        while changed.isEmpty || deleted.isEmpty, let page = try await feed.next() {
            changed += page.changed.map(\.n)
            deleted += page.deleted
        }
        #expect(changed == [100] && deleted == [notes[0].id])
    }

    @Test func `a list stays complete and sorted`() async throws {
        let notes = try await storage.create(contentsOf: [3, 1, 2].map { Note(text: "", room: room, n: $0) })
        var lists = storage.objects(query.order(by: \.n, .descending).limit(3)).makeAsyncIterator()
        #expect(try await lists.next()?.map(\.n) == [3, 2, 1])
        let four = try await storage.create(Note(text: "", room: room, n: 4))
        #expect(try await lists.next()?.map(\.n) == [4, 3, 2])
        try await storage.update(notes[0], .set(\.n, to: 9))
        #expect(try await lists.next()?.map(\.n) == [9, 4, 2])
        try await storage.delete(four)
        #expect(try await lists.next()?.map(\.n) == [9, 2, 1])
    }
}

/// Notices when the first bytes of a stream's body arrive: the server sends all changes that are made from then on.
///
/// The response's head is no sign of that. The server sends it before it has determined where the stream begins, so a
/// change made just after the head may be missing from the stream.
final class ObservedTransport: HTTPTransport {
    let isOpen = Locked(false)
    private let transport: any HTTPTransport

    init(_ transport: any HTTPTransport) { self.transport = transport }

    func send(_ request: HTTPRequest, progress: (@Sendable (Int64) -> Void)?) async throws -> HTTPResponse {
        try await transport.send(request, progress: progress)
    }

    func stream(_ request: HTTPRequest) async throws -> HTTPStream {
        let stream = try await transport.stream(request)
        let (body, feed) = AsyncThrowingStream<Data, any Error>.makeStream()
        let task = Task {
            do {
                for try await piece in stream.body {
                    isOpen.withLock { $0 = true }
                    feed.yield(piece)
                }
                feed.finish()
            } catch {
                feed.finish(throwing: error)
            }
        }
        feed.onTermination = { _ in task.cancel() }
        return HTTPStream(head: stream.head, body: body)
    }
}

/// Cuts each stream after some bytes.
final class BreakingTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let count = Locked(0)

    init(_ transport: any HTTPTransport) { self.transport = transport }

    var connections: Int { count.withLock { $0 } }

    func send(_ request: HTTPRequest, progress: (@Sendable (Int64) -> Void)?) async throws -> HTTPResponse {
        try await transport.send(request, progress: progress)
    }

    func stream(_ request: HTTPRequest) async throws -> HTTPStream {
        let number = count.withLock { count in
            count += 1
            return count
        }
        if number % 3 == 0 { throw MartletError(.notConnected, "No network.") }
        return try await transport.stream(request).cut(after: 2_000 + number * 37)
    }
}
