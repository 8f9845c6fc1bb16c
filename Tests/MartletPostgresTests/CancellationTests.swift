import MartletPostgres
import MartletTesting
import Testing

@Suite struct CancellationTests {
    private func isGone(_ client: PostgresClient, _ mark: String) async throws -> Bool {
        try await client.query(
            "SELECT 1 FROM pg_stat_activity WHERE query LIKE \("%\(mark)%") AND state = 'active' AND pid <> pg_backend_pid()"
        ).isEmpty
    }

    @Test func `A cancelled statement ends on the server, and its neighbours do not`() async throws {
        let configuration = try await sharedServer().makeDatabase()
        try await withClient(configuration) { client async throws in
            let sleepers = (0..<8).map { _ in
                Task { try await client.query("SELECT pg_sleep(600), 'mark'", timeout: .seconds(600)) }
            }
            // With a separate client, because the statements may occupy all connections of the other.
            try await withClient(configuration) { observer async throws in
                try await eventually("a statement runs") { try await !isGone(observer, "'mark'") }
                let neighbours = (0..<40).map { number in
                    Task { try await client.query("SELECT \(number), pg_sleep(0.01)")[0].decode(0, as: Int.self) }
                }
                sleepers.forEach { $0.cancel() }
                for sleeper in sleepers { #expect(await postgresError { try await sleeper.value }?.code == .cancelled) }
                for (number, neighbour) in neighbours.enumerated() { #expect(try await neighbour.value == number) }
                try await eventually("no statement is left") { try await isGone(observer, "'mark'") }
            }
        }
    }

    @Test func `A statement that times out ends on the server`() async throws {
        try await withClient { client async throws in
            _ = try await client.query("SELECT 1")
            let error = await postgresError {
                try await client.query("SELECT pg_sleep(60), 'late'", timeout: .seconds(1))
            }
            #expect(error?.code == .timeout)
            #expect(error?.mayHaveExecuted == true)
            try await eventually("no statement is left") { try await isGone(client, "'late'") }
        }
    }

    @Test func `A storm of cancellations leaves every connection usable`() async throws {
        try await withClient { client async throws in
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<2000 {
                    group.addTask {
                        let task = Task { try await client.query("SELECT \(number), pg_sleep(0.0005)") }
                        if number % 3 == 0 {
                            try? await Task.sleep(for: .microseconds(Int.random(in: 0..<20_000)))
                            task.cancel()
                            _ = try? await task.value
                        } else {
                            do { #expect(try await task.value[0].decode(0, as: Int.self) == number) } catch {
                                Issue.record(error)
                            }
                        }
                    }
                }
            }
            for _ in 0..<50 { _ = try await client.query("SELECT 1") }
        }
    }

    @Test func `A task that was cancelled before its query sends no query`() async throws {
        try await withClient { client async throws in
            let task = Task {
                try? await Task.sleep(for: .seconds(10))
                return try await client.query("SELECT 1")
            }
            task.cancel()
            let error = await postgresError { try await task.value }
            #expect(error?.code == .cancelled)
            #expect(error?.mayHaveExecuted == false)
        }
    }

    @Test func `The queue has a limit, and drops what waits too long`() async throws {
        let plain = try await sharedServer().makeDatabase()
        var configuration = plain
        configuration.maximumConnections = 1
        configuration.maximumPipelineDepth = 1
        configuration.maximumWaitingQueries = 5
        try await withClient(configuration) { client async throws in
            let blocker = Task { try await client.query("SELECT pg_sleep(600), 'block'", timeout: .seconds(600)) }
            try await withClient(plain) { observer async throws in
                try await eventually("the only connection is busy") { try await !isGone(observer, "'block'") }
            }
            let queries = (0..<6).map { _ in Task { try await client.query("SELECT 2", timeout: .seconds(5)) } }
            var codes: [PostgresError.Code: Int] = [:]
            for query in queries {
                let error = try #require(await postgresError { try await query.value })
                codes[error.code, default: 0] += 1
                #expect(error.mayHaveExecuted == false)
            }
            #expect(codes == [.timeout: 5, .overloaded: 1])
            blocker.cancel()
            _ = await blocker.result
            _ = try await client.query("SELECT 4")
        }
    }
}
