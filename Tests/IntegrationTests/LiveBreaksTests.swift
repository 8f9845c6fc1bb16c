import Foundation
import MartletAPI
import MartletPostgres
import MartletTesting
import Testing

extension IntegrationTests {
    /// A short version of `deploy/bench breaks`.
    @Suite(.localServer)
    struct LiveBreaksTests {
        static let writers = 4
        static let subscribers = 8

        @Test func `killing storage and gateway under live streams loses no event and duplicates none`() async throws {
            let server = try LocalServer.current
            let client = Client(server.connection)
            #expect(try await client.post("storage/Break", #"{"_id":"first"}"#).isSuccess)
            let subscribers = (0..<Self.subscribers).map { _ in Subscriber(client, collection: "Break") }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for subscriber in subscribers { group.addTask { await subscriber.run() } }
                try await eventually("every stream is open") { subscribers.allSatisfy(\.isOpen) }
                let results = LoadResults()
                try await Load.run(Self.writers) { number, round in
                    await results.write(to: "Break", as: client, number: number, round: round)
                    try? await Task.sleep(for: .milliseconds(10))
                } during: {
                    for process in ["storage", "gateway", "storage", "gateway", "storage"] {
                        try await Task.sleep(for: .milliseconds(500))
                        try await server.restart(process)
                    }
                    try await Task.sleep(for: .milliseconds(500))
                }
                let entries = results.entries
                #expect(entries.unclean == [])
                let log = try await Self.log(server)
                #expect(Set(log.map(\.id)).isSuperset(of: entries.acknowledged))
                let expected = log.map(\.seq)
                try? await eventually("every subscriber has every event") {
                    subscribers.allSatisfy { $0.events.count >= expected.count }
                }
                for subscriber in subscribers { subscriber.stop() }
                group.cancelAll()
                let breaks = subscribers.map(\.breaks)
                print("live breaks: \(expected.count) events, \(entries), streams reconnected \(breaks) times")
                #expect(breaks.allSatisfy { $0 >= 5 }, "each kill interrupted every stream")
                for subscriber in subscribers {
                    #expect(subscriber.refusal == nil)
                    #expect(
                        subscriber.events.sorted() == expected,
                        "each event once: \(subscriber.events.count) of \(expected.count)")
                }
            }
        }

        @Test func `a stream whose client has disconnected ends at once, not at the next event`() async throws {
            let server = try LocalServer.current
            #expect(try await Client(server.connection).post("storage/Gone", #"{"_id":"first"}"#).isSuccess)
            try await eventually("the streams of other tests have ended") {
                try await Self.subscribers(server) == 0
            }
            var lines: [RawConnection] = []
            for _ in 0..<5 {
                let line = try RawConnection(port: server.port)
                let path = "/api/\(server.connection.appKey)/live/Gone"
                try line.write(
                    "GET \(path) HTTP/1.1\r\nhost: localhost\r\n\(HeaderName.secret): \(server.connection.secret)\r\n\r\n"
                )
                lines.append(line)
            }
            try await eventually("five streams are open") { try await Self.subscribers(server) == 5 }
            // The first stream on an event loop opens a relay, which later streams on that loop use.
            try await eventually("a stream has a relay") {
                let line = try RawConnection(port: server.port)
                let path = "/api/\(server.connection.appKey)/live/Gone"
                try line.write(
                    "GET \(path) HTTP/1.1\r\nhost: localhost\r\n\(HeaderName.secret): \(server.connection.secret)\r\n\r\n"
                )
                lines.append(line)
                try await Task.sleep(for: .milliseconds(50))
                return try await Self.gauge("martlet_storage_live_relayed", server) > 0
            }
            lines = []
            // A heartbeat would come after 15 s.
            try await eventually("no subscriber is left") { try await Self.subscribers(server) == 0 }
        }

        private static func subscribers(_ server: LocalServer) async throws -> Int {
            try await gauge("martlet_storage_live_subscribers", server)
        }

        /// The sum over all copies.
        private static func gauge(_ name: String, _ server: LocalServer) async throws -> Int {
            var sum = 0
            for copy in Copies.of("storage") {
                let address = try #require(server.connection.internalServices[copy])
                let lines = try await Client.send("GET", address + "/metrics").text.split(separator: "\n")
                let line = lines.first { $0.hasPrefix(name + " ") }
                sum += line.flatMap { $0.split(separator: " ").last }.flatMap { Double($0) }.map { Int($0) } ?? 0
            }
            return sum
        }

        /// Number and object of every change that a subscriber should see.
        private static func log(_ server: LocalServer) async throws -> [(seq: Int, id: String)] {
            let schema = "app_" + server.connection.appId
            return try await server.withDatabase { database in
                // Safe without binding: the app's id comes from the server itself.
                let rows = try await database.query(
                    .init(
                        unescaped:
                            "SELECT seq, id FROM \(schema)._changes WHERE collection = 'Break' AND id <> 'first' ORDER BY seq"
                    ))
                return try rows.map { (Int(try $0.decode(0, as: Int64.self)), try $0.decode(1, as: String.self)) }
            }
        }
    }
}
