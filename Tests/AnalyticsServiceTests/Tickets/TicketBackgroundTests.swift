import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import Synchronization
import Testing

@testable import AnalyticsService
@testable import AnalyticsTickets

/// Background work: streams and cleaning up.
@Suite struct TicketBackgroundTests {
    @Test func `an open board is notified of changes in its own space only`() async throws {
        try await AnalyticsApp.run { app in
            let space = try await app.service.spaces.space(of: "app1", .live)
            let streams = app.service.tickets.streams
            try await app.ticket(#"{"title":"before"}"#)
            let response = try await streams.response(space, after: nil)
            #expect(
                response.headers[.contentType] == "text/event-stream; charset=utf-8"
                    && response.headers[.cacheControl] == "no-store")
            let reader = Reader()
            let task = Task { try await response.body.write(reader.writer) }
            defer { task.cancel() }
            try await reader.wait(for: ":\n\n")

            try await app.ticket(#"{"title":"t"}"#)
            try await reader.wait(for: "id: 2\nevent: changed\ndata: {\"generation\":2,\"tickets\":[2]}\n\n")
            var other = app
            other.appID = "app2"
            try await other.ticket(#"{"title":"theirs"}"#)
            try await app.ask("POST", "/tickets/1/comments", #"{"text":"c"}"#)
            try await reader.wait(for: "id: 3\nevent: changed\ndata: {\"generation\":3,\"tickets\":[1]}\n\n")
            try await app.ask("POST", "/tickets/labels", #"{"name":"l"}"#)
            try await reader.wait(for: "id: 4\nevent: changed\ndata: {\"generation\":4,\"tickets\":[]}\n\n")
            #expect(reader.text.components(separatedBy: "event: ").count == 4, "\(reader.text)")
        }
    }

    @Test func `boards are notified when a ticket is blocked or its key changes`() async throws {
        try await AnalyticsApp.run { app in
            for _ in 1...3 { try await app.ticket(#"{"title":"t"}"#) }
            try await app.ask("POST", "/tickets/1/links", #"{"kind":"blocks","ticket":2}"#)
            let space = try await app.service.spaces.space(of: "app1", .live)
            let store = app.service.tickets.store
            let steps: [(call: String, body: String?, isBlocked: String, told: [Int])] = [
                ("PATCH /tickets/1", #"{"priority":"low"}"#, "true", [1]),
                ("PATCH /tickets/1", #"{"status":"complete"}"#, "false", [1, 2]),
                ("POST /tickets/1/move", #"{"status":"todo"}"#, "true", [1, 2]),
                ("POST /tickets/1/move", #"{"end":"top"}"#, "true", [1]),
                ("DELETE /tickets/1", nil, "false", [1, 2]), ("POST /tickets/1/restore", nil, "true", [1, 2]),
                ("PATCH /tickets/settings", #"{"prefix":"APP"}"#, "true", []),
                ("PATCH /tickets/settings", #"{"prefix":"SHOP"}"#, "true", [1, 2, 3]),
            ]
            for step in steps {
                let before = try await store.generation(of: space)
                let parts = step.call.split(separator: " ").map(String.init)
                let answer = try await app.ask(
                    parts[0], parts[1], step.body, headers: parts[0] == "PATCH" ? ["if-match": "*"] : [:])
                #expect([200, 204].contains(answer.status), "\(answer)")
                #expect(try await app.ask("GET", "/tickets/2")["isBlocked"] == step.isBlocked, "\(step)")
                #expect(
                    try await store.changes(in: space, after: before, limit: 10).numbers?.sorted() == step.told,
                    "\(step)")
            }
        }
    }

    @Test func `a reconnecting client gets missed changes at once, or a full reload after too many or a restore`()
        async throws
    {
        try await AnalyticsApp.run { app in
            for _ in 0..<3 { try await app.ticket(#"{"title":"t"}"#) }
            let space = try await app.service.spaces.space(of: "app1", .live)
            func first(after generation: Int64) async throws -> String {
                let response = try await app.service.tickets.streams.response(space, after: generation)
                let reader = Reader()
                let task = Task { try await response.body.write(reader.writer) }
                defer { task.cancel() }
                try await reader.wait(for: "\n\n")
                return reader.text
            }
            #expect(
                try await first(after: 1) == "id: 3\nevent: changed\ndata: {\"generation\":3,\"tickets\":[2,3]}\n\n")
            #expect(try await first(after: 3) == ":\n\n")
            #expect(try await first(after: 99) == "id: 3\nevent: changed\ndata: {\"generation\":3,\"all\":true}\n\n")
            try await app.postgres.execute(
                """
                INSERT INTO analytics.tickets (space, number, type, status, priority, title, position, generation, author)
                SELECT space, n, type, status, priority, title, 'a1', 3, author FROM analytics.tickets, generate_series(4, 203) AS n WHERE number = 3
                """)
            #expect(try await first(after: 1) == "id: 3\nevent: changed\ndata: {\"generation\":3,\"all\":true}\n\n")
        }
    }

    @Test func `a stream has heartbeats and a lifetime, and the number of streams is limited`() async throws {
        try await AnalyticsApp.run { app in
            let space = try await app.service.spaces.space(of: "app1", .live)
            let limits = TicketStreams.Limits(streams: 3, streamsPerSpace: 2, heartbeat: .milliseconds(50))
            let streams = TicketStreams(tickets: app.service.tickets.store, limits: limits)
            let response = try await streams.response(space, after: 0)
            var second: Response? = try await streams.response(space, after: 0)
            await #expect(throws: ServiceError.self) { try await streams.response(space, after: 0) }
            let other = try await app.service.spaces.space(of: "app2", .live)
            let third = try await streams.response(other, after: 0)
            await #expect(throws: ServiceError.self) { try await streams.response(other, after: 0) }
            let reader = Reader()
            let reading = Task { try await response.body.write(reader.writer) }
            try await reader.wait(for: ":\n\n:\n\n:\n\n")
            reading.cancel()
            _ = await reading.result
            // A stream that never began also returns its permit.
            second = nil
            _ = try await streams.response(space, after: 0)
            withExtendedLifetime((second, third)) {}

            let brief = TicketStreams(
                tickets: app.service.tickets.store, limits: TicketStreams.Limits(lifetime: .milliseconds(100)))
            let last = Reader()
            try await brief.response(space, after: 0).body.write(last.writer)
            #expect(last.isFinished)
        }
    }

    @Test func `the bin is emptied after thirty days, and orphaned blobs are removed after a week`() async throws {
        try await AnalyticsApp.run { app in
            for _ in 1...3 { try await app.ticket(#"{"title":"t"}"#) }
            for number in 1...3 { try await app.ask("POST", "/tickets/\(number)/attachments?name=a", "file \(number)") }
            try await app.ask("POST", "/tickets/1/attachments?name=b", "removed")
            try await app.ask("DELETE", "/tickets/1/attachments/2")
            try await app.ask("POST", "/tickets/1/links", #"{"kind":"relates","ticket":2}"#)
            for number in [2, 3] { try await app.ask("DELETE", "/tickets/\(number)") }
            try await app.postgres.execute(
                "UPDATE analytics.tickets SET deleted = now() - interval '31 days' WHERE number = 2")
            let space = try await app.service.spaces.space(of: "app1", .live)
            let (housekeeping, files) = (app.service.tickets.housekeeping, app.service.tickets.attachments.files)
            let count = { try await files.list(AttachmentStore.blobSpace(space), after: nil, limit: 10).blobs.count }
            let day: TimeInterval = 86_400

            await housekeeping.cleanUp(at: Date())
            #expect(try await app.numbers("?deleted=true") == [3])
            #expect(try await app.ask("POST", "/tickets/2/restore").isProblem(.ticketNotFound))
            #expect(try await app.ask("GET", "/tickets/1")["links"] == "[]")
            #expect(try await count() == 4, "all blobs are younger than an hour")
            // Tickets do not age by this clock: only blobs and the bin are compared with it.
            try await app.postgres.execute(
                "UPDATE analytics.tickets SET deleted = now() + interval '100 days' WHERE number = 3")
            await housekeeping.cleanUp(at: Date() + 2 * day)
            #expect(try await count() == 4, "two blobs were found without a row just now")
            await housekeeping.cleanUp(at: Date() + 8 * day)
            #expect(try await count() == 4)
            await housekeeping.cleanUp(at: Date() + 10 * day)
            #expect(try await count() == 2)
            #expect(try await app.ask("GET", "/tickets/1/attachments/1").text == "file 1")
            #expect(try await app.ask("POST", "/tickets/3/restore").status == 200)
            #expect(try await app.ask("GET", "/tickets/3/attachments/1").text == "file 3")
            #expect(try await app.ticket(#"{"title":"t"}"#) == 4)
        }
    }

    @Test func `an attachment whose bytes are missing is removed, unless most are missing`() async throws {
        try await AnalyticsApp.run { app in
            try await app.ticket(#"{"title":"t"}"#)
            for name in ["a", "b", "c"] {
                try await app.ask("POST", "/tickets/1/attachments?name=\(name)", "file \(name)")
            }
            let space = try await app.service.spaces.space(of: "app1", .live)
            let (housekeeping, files) = (app.service.tickets.housekeeping, app.service.tickets.attachments.files)
            func lose(_ name: String) async throws {
                let id: String = try await app.postgres.query(
                    "SELECT blob FROM analytics.ticket_attachments WHERE name = \(name)")[0].decode(0)
                try await files.remove(try #require(BlobName(space: AttachmentStore.blobSpace(space), id: id)))
            }
            func names() async throws -> [String] {
                try await app.postgres.query("SELECT name FROM analytics.ticket_attachments ORDER BY name").map {
                    try $0.decode(0)
                }
            }
            let later = Date() + 2 * 86_400
            try await lose("a")
            await housekeeping.cleanUp(at: Date())
            #expect(try await names() == ["a", "b", "c"], "a day has to pass")
            await housekeeping.cleanUp(at: later)
            #expect(try await names() == ["b", "c"])
            let history = try await app.ask("GET", "/tickets/1/history")
            #expect(
                history["data.4.act"] == "\"detached\"" && history["data.4.before"] == "\"a\""
                    && history["data.4.by"] == "\"service\"", "\(history)")
            try await lose("b")
            try await lose("c")
            await housekeeping.cleanUp(at: later)
            #expect(try await names() == ["b", "c"], "something is wrong with the files as a whole")
        }
    }
}

/// Reads a stream in this process.
private final class Reader: Sendable {
    private let state = Mutex((text: "", isFinished: false))

    var text: String { state.withLock { $0.text } }
    var isFinished: Bool { state.withLock { $0.isFinished } }
    var writer: any ResponseBodyWriter { Writer(reader: self) }

    func wait(for part: String) async throws {
        try await eventually("the stream has \(part)") { text.contains(part) }
    }

    private struct Writer: ResponseBodyWriter {
        let reader: Reader

        mutating func write(_ buffer: ByteBuffer) async throws {
            try Task.checkCancellation()
            reader.state.withLock { $0.text += String(buffer: buffer) }
        }

        consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
            reader.state.withLock { $0.isFinished = true }
        }
    }
}
