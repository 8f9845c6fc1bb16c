import Foundation
import Testing

@testable import MartletKit

@Suite("Analytics")
struct AnalyticsTests {
    private static func batches(_ transport: ScriptedTransport) throws -> [[JSON]] {
        try transport.sent.map { try JSON(parsing: $0.body ?? Data())["batch"]?.arrayValue ?? [] }
    }

    private static func martlet(
        _ transport: ScriptedTransport, _ folder: URL = Scratch.folder(),
        _ change: (inout Martlet.Configuration) -> Void = { _ in }
    ) throws -> Martlet {
        try Martlet.scripted(
            transport, folder: folder,
            change: {
                $0.analytics.interval = nil
                change(&$0)
            })
    }

    private static let accepting = ScriptedTransport { _, _ in HTTPResponse(200, ["accepted": 1]) }

    @Test func `nothing is stored or sent before consent, and withdrawing it deletes what waits`() async throws {
        let transport = ScriptedTransport { _, _ in HTTPResponse(200, ["accepted": 1]) }
        let folder = Scratch.folder()
        let analytics = try Self.martlet(transport, folder).analytics
        let queue = LocalFolder(url: folder).subfolder("analytics").subfolder("queue")
        analytics.track("Early")
        analytics.identify("u1")
        try await analytics.flush()
        #expect(queue.names.isEmpty && transport.sent.isEmpty)
        analytics.consent = .granted
        analytics.identify("u1")
        analytics.track("Bought")
        #expect(queue.names.count == 1)
        analytics.consent = .denied
        analytics.track("Late")
        #expect(queue.names.isEmpty)
        try await analytics.flush()
        #expect(transport.sent.isEmpty)
        let restarted = try Self.martlet(transport, folder).analytics
        #expect(restarted.consent == .denied)
        restarted.consent = .granted
        restarted.track("Again")
        try await restarted.flush()
        #expect(try Self.batches(transport).flatMap { $0 }.map { $0["userId"] } == [nil])
    }

    @Test func `an event has its name, time and user, and the app and device`() async throws {
        let transport = ScriptedTransport { _, _ in HTTPResponse(200, ["accepted": 1]) }
        let martlet = try Self.martlet(transport) {
            $0.device.appVersion = "1.2.3"
            $0.device.build = "45"
            $0.clock.now = { Date(timeIntervalSince1970: 0) }
        }
        martlet.analytics.consent = .granted
        martlet.analytics.track("Bought", ["price": 4.90])
        martlet.analytics.screen("Home")
        martlet.analytics.identify("u1", traits: ["plan": "gold"])
        martlet.analytics.group("acme")
        try await martlet.analytics.flush()
        let events = try #require(try Self.batches(transport).first)
        #expect(events.map { $0["type"] } == ["track", "screen", "identify", "group"])
        let first = events[0]
        #expect(first["event"] == "Bought" && first["properties"] == ["price": 4.9])
        #expect(first["timestamp"] == "1970-01-01T00:00:00.000Z")
        #expect(first["anonymousId"]?.stringValue == transport.sent[0].headers["x-device-id"])
        #expect(first["userId"] == nil && events[2]["userId"] == "u1" && events[3]["userId"] == "u1")
        #expect(first["context"]?["app"]?["version"] == "1.2.3" && first["context"]?["app"]?["build"] == "45")
        #expect(Set(events.map { $0["messageId"]?.stringValue ?? "" }).count == 4)
        #expect(transport.sent[0].headers["authorization"] == nil)
    }

    @Test func `events survive a restart and failures, in order, with the same ids`() async throws {
        let isOnline = Locked(false)
        let transport = ScriptedTransport { _, _ in
            if !isOnline.withLock({ $0 }) { throw MartletError(.connectionLost, "") }
            return HTTPResponse(200, ["accepted": 1])
        }
        let folder = Scratch.folder()
        let first = try Self.martlet(transport, folder) { $0.retries = .never }
        first.analytics.consent = .granted
        first.analytics.track("1")
        first.analytics.track("2")
        await #expect(throws: MartletError.self) { try await first.analytics.flush() }
        let second = try Self.martlet(transport, folder) { $0.retries = .never }
        second.analytics.track("3")
        isOnline.withLock { $0 = true }
        try await second.analytics.flush()
        let batches = try Self.batches(transport)
        #expect(batches.map { $0.map { $0["event"]?.stringValue } } == [["1", "2"], ["1", "2"], ["3"]])
        #expect(batches[0].map { $0["messageId"] } == batches[1].map { $0["messageId"] })
        try await second.analytics.flush()
        #expect(transport.sent.count == 3)
    }

    @Test func `a full batch is sent by itself`() async throws {
        let transport = ScriptedTransport { _, _ in HTTPResponse(200, ["accepted": 1]) }
        let martlet = try Self.martlet(transport) { $0.analytics.batchSize = 3 }
        martlet.analytics.consent = .granted
        for number in 0..<7 { martlet.analytics.track("\(number)") }
        try await eventually("the full batches are sent") { try Self.batches(transport).map(\.count) == [3, 3] }
        try await martlet.analytics.flush()
        #expect(try Self.batches(transport).map(\.count) == [3, 3, 1])
    }

    @Test func `events are sent after the interval`() async throws {
        let transport = ScriptedTransport { _, _ in HTTPResponse(200, ["accepted": 1]) }
        let waits = Locked<[TimeInterval]>([])
        let martlet = try Martlet.scripted(transport, waits: waits)
        martlet.analytics.consent = .granted
        martlet.analytics.track("1")
        try await eventually("the events are sent after the interval") { transport.sent.count == 1 }
        #expect(waits.withLock { $0 } == [30])
    }

    @Test func `a batch that the server refuses for good does not block the others`() async throws {
        let transport = ScriptedTransport { _, number in
            number == 0 ? .problem(400, "invalid-body") : HTTPResponse(200, ["accepted": 1])
        }
        let martlet = try Self.martlet(transport) { $0.analytics.batchSize = 1 }
        martlet.analytics.consent = .granted
        martlet.analytics.track("1")
        martlet.analytics.track("2")
        try await martlet.analytics.flush()
        try await eventually("the second event is sent") { transport.sent.count == 2 }
    }

    @Test func `the queue is bounded: the oldest events are dropped first`() throws {
        let folder = LocalFolder(url: Scratch.folder())
        var store = EventStore(folder, maximumSize: 100, maximumCount: 2)
        for number in 0..<20 { _ = try store.append(Data("{\"n\":\(number)}".utf8)) }
        var numbers: [Int] = []
        store.close()
        while let batch = store.oldest() {
            numbers += batch.events.compactMap { $0["n"]?.intValue }
            store.remove(batch.name)
        }
        #expect(numbers.last == 19 && numbers.count < 20 && numbers == numbers.sorted())
        #expect(folder.names.isEmpty)
    }

    @Test func `a line that was cut off by a crash is left out`() throws {
        let folder = LocalFolder(url: Scratch.folder())
        try folder.write(Data("{\"n\":1}\n{\"n\":2}\n{\"n\":".utf8), to: "000000000007.events")
        var store = EventStore(folder, maximumSize: 1_000, maximumCount: 2)
        _ = try store.append(Data("{\"n\":3}".utf8))
        #expect(store.oldest()?.events == [["n": 1], ["n": 2]])
        #expect(folder.names == ["000000000007.events", "000000000008.events"])
    }

    @Test func `a device records all its events or none`() throws {
        var recording = 0
        for _ in 0..<60 {
            let folder = Scratch.folder()
            let analytics = try Self.martlet(Self.accepting, folder) {
                $0.analytics.sampling = 0.5
                $0.analytics.samplingByEvent = ["Never": 0]
            }.analytics
            analytics.consent = .granted
            analytics.track("Never")
            let queue = LocalFolder(url: folder).subfolder("analytics").subfolder("queue")
            #expect(queue.names.isEmpty)
            for _ in 0..<4 { analytics.track("1") }
            let lines = queue.names.first.flatMap { queue.read($0) }?.split(separator: 10).count ?? 0
            #expect(lines == 0 || lines == 4)
            if lines > 0 { recording += 1 }
        }
        #expect((10...50).contains(recording))
    }

    @Test(.enabled(if: LiveServer.shared != nil))
    func `the server stores each event once, also when it is sent twice`() async throws {
        let server = try #require(LiveServer.shared)
        let name = "Kit2 \(UUID().uuidString)"
        var configuration = try server.configuration(appVersion: "1.2.3")
        configuration.analytics.interval = nil
        configuration.transport = SendingTwice()
        let martlet = Martlet(configuration)
        martlet.analytics.consent = .granted
        for number in 0..<3 { martlet.analytics.track(name, ["number": .number(JSONNumber(number))]) }
        try await martlet.analytics.flush()
        let query = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        try await eventually("the events are stored") {
            let list = try await server.manage("GET", "analytics/events?event=\(query)&limit=50")
            return list["data"]?.arrayValue?.count == 3
        }
    }
}

/// Sends each request twice, as happens when an answer is lost.
private struct SendingTwice: HTTPTransport {
    private let transport = URLSessionTransport()

    func send(_ request: HTTPRequest, progress: (@Sendable (Int64) -> Void)?) async throws -> HTTPResponse {
        _ = try await transport.send(request, progress: nil)
        return try await transport.send(request, progress: progress)
    }

    func stream(_ request: HTTPRequest) async throws -> HTTPStream { try await transport.stream(request) }
}
