import Foundation
import MartletCore
import MartletPushSimulator
import NIOCore
import NIOPosix
import Testing

@testable import MartletPush

/// Messages when connections fail: none is delivered twice, and none is lost silently.
@Suite struct APNsFailureTests {
    @Test func `GOAWAY: unprocessed requests are resent, and everything arrives once`() async throws {
        try await withAPNs({ $0.firstStreams = nil }) { test in
            test.simulator.plan(
                .goAway(after: 100, processing: 60, reason: "Shutdown"), .goAway(after: 30, processing: 0))
            try await test.withClient({ $0.maximumConnections = 1 }) { client in
                let outcomes = await client.sendAll((0..<500).map(TestAPNs.device))
                #expect(
                    outcomes.values.count(where: \.isAccepted) == 500,
                    "\(Set(outcomes.values.map { $0.reason ?? "accepted" }))")
                #expect(test.simulator.messageCountsByDeliveries == [1: 500] && test.simulator.deviceCount == 500)
                #expect(test.simulator.connectionCount == 3)
            }
            let isClosed = await eventually { test.simulator.openConnections == 0 }
            #expect(isClosed)
        }
    }

    @Test func `A lost connection: requests that may have arrived are unknown and not resent`() async throws {
        try await withAPNs({ $0.firstStreams = nil }) { test in
            test.simulator.plan(.disconnect(after: 100, processing: 60))
            try await test.withClient({
                $0.maximumConnections = 1
                $0.maximumStreams = 100
            }) { client in
                let outcomes = await client.sendAll((0..<300).map(TestAPNs.device))
                let unknown = outcomes.filter { $0.value.meaning == .unknown }
                #expect(unknown.count == 100 && outcomes.values.count(where: \.isAccepted) == 200)
                #expect(unknown.values.allSatisfy { $0.reason == "connection-lost" })
                // 60 of the unknown ones did arrive; resending them would have delivered them twice.
                #expect(test.simulator.messageCountsByDeliveries == [1: 260])
            }
        }
    }

    @Test func `Refused streams are resent, but not for ever`() async throws {
        try await withAPNs({ $0.firstStreams = nil }) { test in
            try await test.withClient({ $0.maximumConnections = 1 }) { client in
                test.simulator.plan(.refuse(2))
                let outcome = await client.send(TestAPNs.message(to: "aa"))
                #expect(outcome.isAccepted && test.simulator.requestCount == 3)
                test.simulator.plan(.refuse(3))
                let refused = await client.send(TestAPNs.message(to: "bb"))
                #expect(refused.failure == PushFailure(.notSent, reason: "refused"))
                #expect(
                    test.simulator.requestCount == 6 && test.simulator.deliveries(to: "bb").isEmpty
                        && test.simulator.connectionCount == 1)
            }
        }
    }

    @Test(arguments: [(1_800.0, true), (5_400.0, false)])
    func `A token that APNs calls expired is renewed once, and its requests are resent`(
        ahead: TimeInterval, isAccepted: Bool
    ) async throws {
        // The client's clock is behind; 35 minutes of the token's 40 have passed.
        try await withAPNs(ahead: ahead) { test in
            test.clock.move(by: 1_790)
            try await test.withClient { client in
                let outcomes = await client.sendAll((0..<20).map(TestAPNs.device))
                #expect(
                    outcomes.values.allSatisfy { $0.isAccepted == isAccepted },
                    "\(Set(outcomes.values.map { $0.reason ?? "accepted" }))")
                if !isAccepted { #expect(outcomes.values.allSatisfy { $0.failure?.meaning == .credentialBroken }) }
                #expect(test.simulator.messageCountsByDeliveries == (isAccepted ? [1: 20] : [:]))
                #expect(Set(test.simulator.requests.compactMap { $0.headers["authorization"] }).count == 2)
            }
        }
    }

    @Test func `A stream that is reset may have been processed`() async throws {
        try await withAPNs { test in
            test.simulator.plan(.reset(1))
            try await test.withClient { client in
                let outcome = await client.send(TestAPNs.message(to: "aa"))
                #expect(outcome.failure == PushFailure(.unknown, reason: "stream-reset"))
                #expect(test.simulator.requestCount == 1)
                let next = await client.send(TestAPNs.message(to: "aa"))
                #expect(next.isAccepted && test.simulator.connectionCount == 1)
            }
        }
    }

    @Test func `A missing response is unknown, and other requests are unaffected`() async throws {
        try await withAPNs({ $0.firstStreams = nil }) { test in
            test.simulator.set("bb", .silent)
            try await test.withClient({ $0.answerLimit = .seconds(20) }) { client in
                let outcomes = await client.sendAll(["aa", "bb", "cc"])
                #expect(outcomes["bb"]?.failure == PushFailure(.unknown, reason: "answer-timeout"))
                #expect(outcomes["aa"]?.isAccepted == true && outcomes["cc"]?.isAccepted == true)
                let next = await client.send(TestAPNs.message(to: "dd"))
                #expect(next.isAccepted && test.simulator.connectionCount == 1)
            }
        }
    }

    @Test func `Slow responses are waited for`() async throws {
        try await withAPNs({ $0.answerDelay = .milliseconds(1_500) }) { test in
            try await test.withClient { client in
                let outcome = await client.send(TestAPNs.message(to: "aa"))
                #expect(outcome.isAccepted)
            }
        }
    }

    @Test func `A lost network is detected by a ping`() async throws {
        try await withAPNs { test in
            try await test.withClient({
                $0.pingInterval = .milliseconds(200)
                $0.pingLimit = .seconds(10)
            }) { client in
                let first = await client.send(TestAPNs.message(to: "aa"))
                #expect(first.isAccepted)
                test.simulator.plan(.freeze)
                let frozen = await client.send(TestAPNs.message(to: "aa"))
                #expect(frozen.failure == PushFailure(.unknown, reason: "connection-lost"))
                let next = await client.send(TestAPNs.message(to: "aa"))
                #expect(next.isAccepted && test.simulator.connectionCount == 2)
            }
        }
    }

    @Test func `A live connection answers pings and stays open`() async throws {
        try await withAPNs { test in
            try await test.withClient({ $0.pingInterval = .milliseconds(100) }) { client in
                for _ in 0..<2 {
                    let outcome = await client.send(TestAPNs.message(to: "aa"))
                    #expect(outcome.isAccepted)
                    try await Task.sleep(for: .milliseconds(2_500))
                }
                #expect(test.simulator.connectionCount == 1 && test.simulator.openConnections == 1)
            }
        }
    }

    @Test func `An idle connection is closed, and opened again when needed`() async throws {
        try await withAPNs { test in
            try await test.withClient({ $0.idleLimit = .milliseconds(100) }) { client in
                for round in 1...2 {
                    let outcome = await client.send(TestAPNs.message(to: "aa"))
                    #expect(outcome.isAccepted && test.simulator.connectionCount == round)
                    let isClosed = await eventually { test.simulator.openConnections == 0 }
                    #expect(isClosed)
                }
            }
        }
    }

    @Test func `Without a server the client keeps trying, and sends as soon as there is one`() async throws {
        try await withAPNs({ $0.refusesConnections = true }) { test in
            try await test.withClient { client in
                let send = Task { await client.sendAll(["aa", "bb"]) }
                await eventually(within: .seconds(60)) { test.simulator.connectionCount > 3 }
                let status = await client.status()
                #expect(status.lastFailure != nil && status.waiting == 2 && status.connections == 0)
                test.simulator.change { $0.refusesConnections = false }
                let outcomes = await send.value
                #expect(outcomes.values.allSatisfy { $0.isAccepted })
                let after = await client.status()
                #expect(after.lastFailure == nil && after.connections == 1 && after.openedConnections == 1)
            }
        }
    }

    @Test func `A request that waits too long is reported as not sent`() async throws {
        try await withAPNs { test in
            let port = try FreePort.find()
            try await test.withClient({
                $0.port = port
                $0.waitLimit = .milliseconds(200)
            }) { client in
                let outcomes = await client.sendAll(["aa", "bb"])
                #expect(outcomes.values.allSatisfy { $0.failure == PushFailure(.notSent, reason: "wait-timeout") })
            }
        }
    }

    @Test func `Nothing is sent to a server that cannot authenticate`() async throws {
        try await withAPNs { test in
            try await test.withClient({ $0.trustedCertificates = nil }) { client in
                let send = Task { await client.send(TestAPNs.message(to: "aa")) }
                let isRefused = await eventually(within: .seconds(60)) {
                    await client.status().lastFailure?.contains("CERTIFICATE_VERIFY_FAILED") == true
                }
                send.cancel()
                let outcome = await send.value
                #expect(isRefused && outcome.meaning == .notSent && test.simulator.requestCount == 0)
            }
        }
    }

    @Test func `A server that sends no settings is abandoned`() async throws {
        try await withAPNs({ $0.withholdsSettings = true }) { test in
            try await test.withClient({ $0.connectLimit = .seconds(3) }) { client in
                let send = Task { await client.send(TestAPNs.message(to: "aa")) }
                await eventually(within: .seconds(60)) { test.simulator.connectionCount > 1 }
                let status = await client.status()
                #expect(status.lastFailure == "no-settings" && test.simulator.requestCount == 0)
                test.simulator.change { $0.withholdsSettings = false }
                let outcome = await send.value
                #expect(outcome.isAccepted)
            }
        }
    }

    @Test func `A full queue refuses requests`() async throws {
        try await withAPNs({ $0.refusesConnections = true }) { test in
            try await test.withClient({ $0.maximumWaiting = 10 }) { client in
                let outcomes = await withTaskGroup(of: PushOutcome.self) { group in
                    for number in 0..<50 {
                        group.addTask { await client.send(TestAPNs.message(to: TestAPNs.device(number))) }
                    }
                    var outcomes: [PushOutcome] = []
                    for await outcome in group {
                        outcomes.append(outcome)
                        // All that found the queue full are refused; the others wait for the server.
                        if outcomes.count == 40 { test.simulator.change { $0.refusesConnections = false } }
                    }
                    return outcomes
                }
                let full = PushFailure(.notSent, reason: "queue-full")
                #expect(outcomes.prefix(40).allSatisfy { $0.failure == full })
                #expect(outcomes.suffix(10).allSatisfy { $0.isAccepted })
            }
        }
    }

    @Test func `A message cancelled while waiting is not sent; cancelled later, its response is awaited`()
        async throws
    {
        try await withAPNs({ $0.withholdsAnswers = true }) { test in
            try await test.withClient({
                $0.maximumStreams = 1
                $0.maximumConnections = 1
            }) { client in
                let first = Task { await client.send(TestAPNs.message(to: "aa")) }
                await eventually { test.simulator.requestCount == 1 }
                let second = Task { await client.send(TestAPNs.message(to: "bb")) }
                await eventually { await client.status().waiting == 1 }
                second.cancel()
                first.cancel()
                let waited = await second.value
                #expect(waited.failure == PushFailure(.notSent, reason: "cancelled"))
                test.simulator.change { $0.withholdsAnswers = false }
                let sent = await first.value
                #expect(sent.isAccepted)
                #expect(test.simulator.deliveries(to: "bb").isEmpty)
                let gone = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return await client.send(TestAPNs.message(to: "cc"))
                }
                let never = await gone.value
                #expect(never.meaning == .notSent)
            }
        }
    }

    @Test func `Shutting down waits for responses, refuses waiting requests, and closes`() async throws {
        try await withAPNs({ $0.withholdsAnswers = true }) { test in
            let client = try APNsClient(
                test.configuration {
                    $0.maximumStreams = 1
                    $0.maximumConnections = 1
                    $0.drainLimit = .seconds(120)
                }, key: try test.credential(), logger: .quiet, now: test.clock.now)
            let first = Task { await client.send(TestAPNs.message(to: "aa")) }
            await eventually { test.simulator.requestCount == 1 }
            let second = Task { await client.send(TestAPNs.message(to: "bb")) }
            await eventually { await client.status().waiting == 1 }
            async let shutDown: Void = client.shutDown()
            let waited = await second.value
            test.simulator.change { $0.withholdsAnswers = false }
            await shutDown
            let sent = await first.value
            #expect(sent.isAccepted && waited.failure == PushFailure(.notSent, reason: "shut-down"))
            let late = await client.send(TestAPNs.message(to: "cc"))
            #expect(late.failure == PushFailure(.notSent, reason: "shut-down"))
            let isClosed = await eventually { test.simulator.openConnections == 0 }
            #expect(isClosed)
            await client.shutDown()
        }
    }

    @Test func `Shutting down does not wait for ever`() async throws {
        try await withAPNs { test in
            test.simulator.set("aa", .silent)
            let client = try APNsClient(
                test.configuration { $0.drainLimit = .milliseconds(200) }, key: try test.credential(), logger: .quiet,
                now: test.clock.now)
            let send = Task { await client.send(TestAPNs.message(to: "aa")) }
            await eventually { test.simulator.requestCount == 1 }
            await client.shutDown()
            let outcome = await send.value
            #expect(outcome.failure == PushFailure(.unknown, reason: "connection-lost"))
        }
    }

    @Test func `After many failures nothing is delivered twice, and every message has an outcome`() async throws {
        try await withAPNs({
            $0.firstStreams = nil
            $0.maximumStreams = 50
        }) { test in
            test.simulator.plan(
                .goAway(after: 20, processing: 7), .disconnect(after: 30, processing: 11), .refuse(5), .reset(3),
                .goAway(after: 1, processing: 1),
                .disconnect(after: 1, processing: 0), .goAway(after: 50, processing: 49), .refuse(1))
            try await test.withClient { client in
                let outcomes = await client.sendAll((0..<2_000).map(TestAPNs.device))
                #expect(outcomes.count == 2_000)
                #expect(
                    Set(test.simulator.messageCountsByDeliveries.keys) == [1],
                    "\(test.simulator.messageCountsByDeliveries)")
                for (device, outcome) in outcomes {
                    let delivered = test.simulator.deliveries(to: device).values.reduce(0, +)
                    switch outcome {
                    case .accepted: #expect(delivered == 1)
                    case .failed(let failure) where failure.meaning == .notSent: #expect(delivered == 0)
                    case .failed(let failure): #expect(failure.meaning == .unknown && delivered <= 1)
                    }
                }
                #expect(outcomes.values.count(where: \.isAccepted) > 1_700)
            }
        }
    }
}
