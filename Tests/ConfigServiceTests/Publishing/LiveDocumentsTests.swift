import MartletAPI
import MartletCompression
import MartletCore
import MartletPostgres
import MartletTesting
import ServiceLifecycle
import ServiceTesting
import Testing

@testable import ConfigService

@Suite struct LiveDocumentsTests {
    @Test func `another instance notices a publication`() async throws {
        try await ConfigApp.run(kinds: .plain) { app in
            let other = ConfigService(
                postgres: app.database.client(for: "config"), internalSecret: ConfigApp.internalSecret, others: .none,
                logger: .silent, kinds: .plain)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for service in other.background { group.addTask { try await service.run() } }
                let (before, changes) = try await other.live.changes(app.space)
                #expect(before.documents.isEmpty)
                try await app.publish(.flags, "default", #"{"text":"one"}"#)
                var versions: [Int] = []
                for await space in changes {
                    versions.append(space[DocumentKey(.flags, "default")]?.version ?? 0)
                    if versions == [1] { try await app.publish(.flags, "default", #"{"text":"two"}"#) } else { break }
                }
                #expect(versions == [1, 2])
                group.cancelAll()
            }
        }
    }

    @Test func `reads continue without the database`() async throws {
        try await ConfigApp.run(kinds: .plain) { app in
            try await app.publish(.flags, "default", #"{"text":"one"}"#)
            let unreachable = PostgresClient(
                configuration: PostgresConfiguration(
                    connectionString: "postgres://nobody@127.0.0.1:1/none?connect_timeout=1"), logger: .silent)
            let other = ConfigService(
                postgres: unreachable, internalSecret: ConfigApp.internalSecret, others: .none, logger: .silent,
                kinds: .plain)
            // An unknown space cannot be read.
            await #expect(throws: (any Error).self) { try await other.live.current(app.space) }
            // A known one can, whatever the database does.
            let known = try await app.service.live.current(app.space)
            await app.service.postgres.close()
            await app.service.live.catchUp(app.space)
            #expect(try await app.service.live.current(app.space) === known)
        }
    }

    @Test func `the least recently used space is evicted`() async throws {
        try await ConfigApp.run(kinds: .plain) { app in
            let store = LiveDocumentStore(postgres: app.postgres, kinds: .plain, logger: .silent)
            let live = LiveDocuments(store: store, postgres: app.postgres, limits: .init(spaces: 2), logger: .silent)
            let spaces = ["a", "b", "c"].map { AppSpace(appID: $0, environment: .live) }
            let first = try await live.current(spaces[0])
            let second = try await live.current(spaces[1])
            #expect(try await live.current(spaces[0]) === first)
            _ = try await live.current(spaces[2])
            #expect(try await live.current(spaces[0]) === first)
            #expect(try await live.current(spaces[1]) !== second)
        }
    }
}

@Suite struct GzipTests {
    @Test func `only content that becomes shorter is compressed`() {
        #expect(Gzip.compress(Array("{}".utf8)) == nil)
        let long = Array(String(repeating: "{\"a\":1}", count: 500).utf8)
        let gzip = Gzip.compress(long)
        #expect(gzip.map { $0.count < 200 && $0[0] == 0x1f && $0[1] == 0x8b } == true)
        var generator = SystemRandomNumberGenerator()
        #expect(Gzip.compress((0..<1_000).map { _ in UInt8.random(in: 0...255, using: &generator) }) == nil)
    }
}
