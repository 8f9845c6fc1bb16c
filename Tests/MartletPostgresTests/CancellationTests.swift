import MartletPostgres
import Testing

@Suite struct CancellationTests {
    private func isGone(_ client: PostgresClient, _ mark: String) async throws -> Bool {
        try await client.query("SELECT 1 FROM pg_stat_activity WHERE query LIKE \("%\(mark)%") AND state = 'active' AND pid <> pg_backend_pid()").isEmpty
    }

    @Test func `A cancelled statement ends on the server, and its neighbours do not`() async throws {
        try await withClient { client async throws in
            let sleepers = (0..<8).map { _ in Task { try await client.query("SELECT pg_sleep(60), 'mark'") } }
            try await Task.sleep(for: .milliseconds(200))
            let start = ContinuousClock.now
            let neighbours = (0..<40).map { number in
                Task { try await client.query("SELECT \(number), pg_sleep(0.01)")[0].decode(0, as: Int.self) }
            }
            sleepers.forEach { $0.cancel() }
            for sleeper in sleepers { #expect(await postgresError { try await sleeper.value }?.code == .cancelled) }
            #expect(ContinuousClock.now - start < .seconds(1))
            for (number, neighbour) in neighbours.enumerated() { #expect(try await neighbour.value == number) }
            #expect(ContinuousClock.now - start < .seconds(10))
            try await eventually("no statement is left") { try await isGone(client, "'mark'") }
        }
    }

    @Test func `A time-out does the same`() async throws {
        try await withClient { client async throws in
            _ = try await client.query("SELECT 1")
            let start = ContinuousClock.now
            let error = await postgresError { try await client.query("SELECT pg_sleep(60), 'late'", timeout: .milliseconds(200)) }
            #expect(error?.code == .timeout)
            #expect(error?.mayHaveExecuted == true)
            #expect(ContinuousClock.now - start < .seconds(2))
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
                            do { #expect(try await task.value[0].decode(0, as: Int.self) == number) } catch { Issue.record(error) }
                        }
                    }
                }
            }
            for _ in 0..<50 { _ = try await client.query("SELECT 1") }
        }
    }

    @Test func `A task cancelled before it asks gets nothing`() async throws {
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

    @Test func `The queue has a limit, and gives up what waits too long`() async throws {
        try await withClient({
            $0.maximumConnections = 1
            $0.maximumPipelineDepth = 1
            $0.maximumWaitingQueries = 5
        }) { client async throws in
            _ = try await client.query("SELECT 1")
            let blocker = Task { try await client.query("SELECT pg_sleep(4)") }
            try await Task.sleep(for: .milliseconds(100))
            let waiting = (0..<5).map { _ in Task { try await client.query("SELECT 2", timeout: .seconds(2)) } }
            try await Task.sleep(for: .milliseconds(100))
            let error = await postgresError { try await client.query("SELECT 3") }
            #expect(error?.code == .overloaded)
            for task in waiting {
                let error = await postgresError { try await task.value }
                #expect(error?.code == .timeout)
                #expect(error?.mayHaveExecuted == false)
            }
            _ = try await blocker.value
            _ = try await client.query("SELECT 4")
        }
    }
}
