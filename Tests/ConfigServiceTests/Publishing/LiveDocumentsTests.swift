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

    /// The calls that clients repeat after an event.
    private static let repeated: [(method: String, path: String, body: String?)] = [
        ("GET", "/remote/1.0", nil), ("POST", "/remote", #"{"appVersion":"1.0"}"#), ("POST", "/flags/evaluate", "{}"),
        ("GET", "/translation/en/1.0", nil), ("GET", "/translationVersion/en/1.0~1", nil),
        ("GET", "/definitions/home/manifest", nil),
    ]

    private static let documents: [(DocumentKind, String, String)] = [
        (.configuration, "1.0", #"{"mainSettings":{"menu":"new"}}"#),
        (
            .definition, "home",
            #"""
            {"name":"Home","minClient":"1.0","root_controller":"Main",
            "views":{"MainView":{"contents":[{"kind":"LabelView","text":"Hello"}]}},
            "controllers":{"Main":{"render":"MainView"}}}
            """#
        ),
        (.flags, "default", #"{"flags":{"new":{"type":"boolean","default":true}}}"#),
    ]

    @Test func `a call that names the generation of an event gets no older state`() async throws {
        var limits = LiveDocuments.Limits()
        limits.wait = .seconds(60)
        try await ConfigApp.run(limits: limits) { app async throws in
            try await withThrowingTaskGroup(of: (path: String, answer: Answer).self) { group in
                for call in Self.repeated {
                    group.addTask {
                        (call.path, try await app.client(call.method, call.path + "?generation=4", call.body))
                    }
                }
                let texts = #"{"version":"1.0","language":"en","strings":{"a":"b"},"publish":true}"#
                #expect(try await app.master("POST", "/translation", texts)["published.version"] == "1")
                for (kind, name, content) in Self.documents {
                    let published = try await app.publish(kind, name, content)
                    #expect(published.status == 200, "\(published)")
                }
                for try await call in group {
                    #expect(call.answer.status == 200 && call.answer["version"] != "null", "\(call)")
                }
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
