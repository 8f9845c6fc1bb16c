import Logging
import MartletPostgres
import MartletTesting
import ServiceLifecycle
import Synchronization
import Testing

/// Each test has a server of its own, which is killed.
@Suite struct ReconnectTests {
    @Test func `A server killed under load causes clean errors, and service resumes by itself`() async throws {
        let server = try await PostgresServer.start()
        try await withClient(server.configuration()) { client async throws in
            let answered = Count()
            let load = (0..<64).map { _ in
                Task {
                    var codes: Set<String> = []
                    for _ in 0..<10_000 where !Task.isCancelled {
                        do {
                            _ = try await client.query("SELECT pg_sleep(0.001)")
                            answered.increment()
                        } catch let error as PostgresError {
                            codes.insert(error.code.description)
                            if error.code == .connectionLost { #expect(error.mayHaveExecuted) }
                        }
                    }
                    return codes
                }
            }
            try await eventually("under load") { client.isReady && answered.value > 200 }
            try await server.kill()
            try await eventually("not ready") { !client.isReady }
            try await server.start()
            try await eventually("ready again") { client.isReady }
            #expect(try await client.query("SELECT 1").count == 1)
            load.forEach { $0.cancel() }
            var codes: Set<String> = []
            for task in load { codes.formUnion(try await task.value) }
            #expect(codes.contains("connectionLost"))
            #expect(codes.isSubset(of: ["connectionLost", "unavailable", "cancelled", "server"]))
        }
        try await server.stop()
    }

    @Test func `Without a server a query waits for its time limit, then fails as unavailable`() async throws {
        let server = try await PostgresServer.start()
        try await server.stop()
        var configuration = server.configuration()
        configuration.waitForConnectionTimeout = .milliseconds(600)
        try await withClient(configuration) { client async throws in
            let start = ContinuousClock.now
            async let transaction = postgresError {
                try await client.withTransaction { try await $0.query("SELECT 1") }
            }
            let error = await postgresError { try await client.query("SELECT 1") }
            #expect(error?.code == .unavailable)
            #expect(error?.mayHaveExecuted == false)
            #expect(await transaction?.code == .unavailable)
            #expect(ContinuousClock.now - start >= .milliseconds(600))

            let patient = Task { try await client.query("SELECT 1") }
            try await server.start()
            _ = try? await patient.value
            try await eventually("ready again") { client.isReady }
            #expect(try await client.query("SELECT 1").count == 1)
        }
        try await server.stop()
    }

    @Test func `Listening survives a restart and reports it`() async throws {
        let server = try await PostgresServer.start()
        try await withClient(server.configuration()) { client async throws in
            var reader = client.listen("news \"x\"").makeAsyncIterator()
            #expect(await reader.next()?.kind == .reconnected)
            try await client.execute("SELECT pg_notify(\("news \"x\""), \("one"))")
            let first = await reader.next()
            #expect(first?.payload == "one" && first?.kind == .message && first?.mayHaveMissed == false)
            try await server.restart()
            let marker = await reader.next()
            #expect(marker?.kind == .reconnected && marker?.mayHaveMissed == true)
            try await eventually("ready again") {
                (try? await client.execute("SELECT pg_notify(\("news \"x\""), \("two"))")) != nil
            }
            #expect(await reader.next()?.payload == "two")
        }
        try await server.stop()
    }

    @Test func `The channel is closed when its last reader ends`() async throws {
        try await withClient { client async throws in
            let (listening, didListen) = AsyncStream.makeStream(of: Void.self)
            let task = Task { for await _ in client.listen("one") { didListen.finish() } }
            for await _ in listening {}
            var other = client.listen("two").makeAsyncIterator()
            #expect(await other.next()?.kind == .reconnected)
            let find: PostgresQuery =
                "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'UNLISTEN%'"
            #expect(try await client.query(find).isEmpty)
            task.cancel()
            try await eventually("UNLISTEN was sent") { try await !client.query(find).isEmpty }
            await #expect(Task { for await _ in client.listen("") {} }.value == ())
        }
    }

    @Test func `A client that runs as a service connects in advance and drains at shutdown`() async throws {
        let client = PostgresClient(
            configuration: try await sharedServer().makeDatabase(), logger: Logger(label: "test"))
        let group = ServiceGroup(services: [client], logger: Logger(label: "test"))
        let running = Task { try await group.run() }
        try await eventually("ready") { client.isReady }
        let begun = Count()
        let queries = (0..<20).map { _ in
            Task {
                begun.increment()
                return try await client.query("SELECT pg_sleep(0.3)")
            }
        }
        try await eventually("all queries have begun") { begun.value == 20 }
        // Between this sign and the arrival of its query at the client, a task may be interrupted.
        try await Task.sleep(for: .milliseconds(300))
        await group.triggerGracefulShutdown()
        for query in queries { #expect(try await query.value.count == 1) }
        try await running.value
        #expect(await postgresError { try await client.query("SELECT 1") }?.code == .closed)
        #expect(!client.isReady)
    }
}

private final class Count: Sendable {
    private let number = Atomic<Int>(0)
    var value: Int { number.load(ordering: .relaxed) }
    func increment() { number.wrappingAdd(1, ordering: .relaxed) }
}
