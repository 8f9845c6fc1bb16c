import Crypto
import Foundation
import MartletCore
import MartletPushSimulator
import NIOCore
import Testing

@testable import MartletPush

/// Sends messages to the simulator.
@Suite struct APNsClientTests {
    @Test func `A message arrives with its headers and its payload`() async throws {
        try await withAPNs { test in
            try await test.withClient { client in
                var message = TestAPNs.message(to: "00FFAB12", "Grüße")
                message.expiration = Date(timeIntervalSince1970: 1_795_300_000.9)
                message.collapseID = "score"
                message.priority = .considerate
                let outcome = await client.send(message)
                guard case .accepted(let receipt) = outcome else { return #expect(Bool(false), "\(outcome)") }
                #expect(receipt.id == message.id.uuidString.lowercased() && receipt.uniqueID != nil)
                let request = try #require(test.simulator.requests.first)
                #expect(request.device == "00ffab12" && request.text == #"{"aps":{"alert":{"body":"Grüße"}}}"#)
                let expected = [
                    ":method": "POST", ":scheme": "https", ":authority": "127.0.0.1:\(test.simulator.port)",
                    "apns-push-type": "alert",
                    "apns-topic": "com.example.bikes", "apns-priority": "5", "apns-expiration": "1795300000",
                    "apns-collapse-id": "score",
                    "apns-id": message.id.uuidString.lowercased(),
                ]
                for (name, value) in expected { #expect(request.headers[name] == value, "\(name)") }
                #expect(test.simulator.deliveries(to: "00ffab12") == [request.id: 1])
            }
        }
    }

    @Test func `Without an expiration APNs tries once`() async throws {
        try await withAPNs { test in
            try await test.withClient { client in
                _ = await client.send(TestAPNs.message(to: "aa"))
                let headers = try #require(test.simulator.requests.first?.headers)
                #expect(
                    headers["apns-expiration"] == "0" && headers["apns-priority"] == "10"
                        && headers["apns-collapse-id"] == nil)
            }
        }
    }

    @Test(arguments: APNsReasonTests.reasons.map { ($0.0, $0.1) })
    func `Each of APNs' reasons is reported`(status: Int, reason: String) async throws {
        try await withAPNs { test in
            test.simulator.set("bb", .answers(status: status, reason: reason))
            try await test.withClient { client in
                let outcome = await client.send(TestAPNs.message(to: "bb"))
                #expect(outcome.reason == reason && outcome.failure?.status == status)
                #expect(test.simulator.requestCount == 1 && test.simulator.deliveries(to: "bb").isEmpty)
            }
        }
    }

    @Test func `A gone device is reported with the time`() async throws {
        try await withAPNs { test in
            let time = Date(timeIntervalSince1970: 1_795_100_000.125)
            test.simulator.set("aa", .unregistered(since: time))
            test.simulator.set("bb", .expired(since: time))
            test.simulator.set("cc", .answers(status: 400, reason: "BadDeviceToken"))
            try await test.withClient { client in
                let outcomes = await client.sendAll(["aa", "bb", "cc"])
                #expect(outcomes["aa"]?.meaning == .deviceGone(unlessRegisteredSince: time))
                #expect(outcomes["bb"]?.meaning == .deviceGone(unlessRegisteredSince: time))
                #expect(outcomes["cc"]?.meaning == .deviceGone(unlessRegisteredSince: test.clock.now()))
            }
        }
    }

    @Test func `An invalid message sends no request`() async throws {
        try await withAPNs { test in
            try await test.withClient { client in
                let outcome = await client.send(TestAPNs.message(to: "aa", String(repeating: "x", count: 5_000)))
                #expect(outcome.meaning == .messageRejected && outcome.reason == "PayloadTooLarge")
                let gone = await client.send(TestAPNs.message(to: "not a token"))
                guard case .deviceGone? = gone.meaning else { return #expect(Bool(false)) }
                #expect(test.simulator.connectionCount == 0)
            }
        }
    }

    @Test func `Many messages share a connection, as many at a time as the server allows, each once`() async throws {
        try await withAPNs({ $0.maximumStreams = 40 }) { test in
            try await test.withClient({ $0.maximumConnections = 1 }) { client in
                // The first accepted token raises the limit.
                let first = await client.send(TestAPNs.message(to: TestAPNs.device(1_000)))
                #expect(first.isAccepted)
                test.simulator.change { $0.withholdsAnswers = true }
                let send = Task { await client.sendAll((0..<1_000).map(TestAPNs.device)) }
                await eventually { test.simulator.requestCount == 41 }
                test.simulator.change { $0.withholdsAnswers = false }
                let outcomes = await send.value
                #expect(outcomes.values.count(where: \.isAccepted) == 1_000)
                #expect(test.simulator.messageCountsByDeliveries == [1: 1_001] && test.simulator.deviceCount == 1_001)
                #expect(test.simulator.connectionCount == 1 && test.simulator.tokens.count == 1)
                #expect(test.simulator.peakStreams == 40)
            }
        }
    }

    @Test func `Until a token is accepted, one request is under way`() async throws {
        try await withAPNs({
            $0.firstStreams = 1
            $0.answerDelay = .milliseconds(20)
        }) { test in
            try await test.withClient(
                key: try APNsKey(
                    keyID: "AAAAAAAAAA", teamID: "AAAAAAAAAA",
                    privateKey: Secret(P256.Signing.PrivateKey().pemRepresentation)), { $0.maximumConnections = 1 }
            ) { client in
                let outcomes = await client.sendAll((0..<5).map(TestAPNs.device))
                #expect(
                    outcomes.values.allSatisfy {
                        $0.meaning == .credentialBroken && $0.reason == "InvalidProviderToken"
                    })
                #expect(test.simulator.peakStreams == 1)
            }
        }
    }

    @Test func `A second connection is opened under load, and shares the token`() async throws {
        try await withAPNs({
            $0.maximumStreams = 10
            $0.withholdsAnswers = true
        }) { test in
            try await test.withClient({ $0.waitingForAnotherConnection = 50 }) { client in
                let send = Task { await client.sendAll((0..<400).map(TestAPNs.device)) }
                await eventually { test.simulator.connectionCount == 2 }
                test.simulator.change { $0.withholdsAnswers = false }
                let outcomes = await send.value
                #expect(outcomes.values.count(where: \.isAccepted) == 400)
                #expect(test.simulator.connectionCount == 2 && test.simulator.tokens.count == 1)
                #expect(test.simulator.messageCountsByDeliveries == [1: 400])
            }
        }
    }

    @Test func `The provider token is renewed in time on the existing connection`() async throws {
        try await withAPNs { test in
            try await test.withClient { client in
                for minutes in 0..<20 {
                    let outcome = await client.send(TestAPNs.message(to: TestAPNs.device(minutes)))
                    #expect(outcome.isAccepted, "\(outcome)")
                    test.clock.move(by: 10 * 60)
                }
                #expect(test.simulator.connectionCount == 1)
                #expect(test.simulator.tokens.count == 6)
            }
        }
    }

    @Test func `A wrong clock appears as a broken credential`() async throws {
        try await withAPNs { test in
            let slow = MovedClock()
            slow.move(by: -4_000)
            let client = try APNsClient(test.configuration(), key: try test.credential(), logger: .quiet, now: slow.now)
            let outcome = await client.send(TestAPNs.message(to: "aa"))
            #expect(outcome.failure == PushFailure(.credentialBroken, reason: "ExpiredProviderToken", status: 403))
            await client.shutDown()
        }
    }

    @Test func `A topic that the key may not use is refused`() async throws {
        try await withAPNs { test in
            let key = SimulatedKey(topics: ["com.example.other"])
            test.simulator.trust(key)
            let credential = try APNsKey(keyID: key.keyID, teamID: key.teamID, privateKey: Secret(key.pem))
            try await test.withClient(key: credential) { client in
                let outcome = await client.send(TestAPNs.message(to: "aa"))
                #expect(outcome.failure == PushFailure(.messageRejected, reason: "TopicDisallowed", status: 400))
            }
        }
    }

    @Test func `Keys have separate clients, with one token in both environments`() async throws {
        try await withAPNs { test in
            let other = SimulatedKey()
            test.simulator.trust(other)
            let clients = APNsClients(logger: .quiet, now: test.clock.now) { _ in test.configuration() }
            let otherKey = try APNsKey(keyID: other.keyID, teamID: other.teamID, privateKey: Secret(other.pem))
            for environment in APNsEnvironment.allCases {
                for key in [try test.credential(), try test.credential(), otherKey] {
                    let outcome = try await clients.send(TestAPNs.message(to: "aa"), key: key, to: environment)
                    #expect(outcome.isAccepted)
                }
            }
            #expect(test.simulator.connectionCount == 4 && test.simulator.tokens.count == 2)
            let status = await clients.status(of: otherKey, in: .sandbox)
            #expect(status?.connections == 1)
        }
    }

    @Test func `Beyond the limit of keys, the least recently used one is dropped`() async throws {
        try await withAPNs { test in
            let keys = (0..<3).map { _ in SimulatedKey() }
            for key in keys { test.simulator.trust(key) }
            let credentials = try keys.map {
                try APNsKey(keyID: $0.keyID, teamID: $0.teamID, privateKey: Secret($0.pem))
            }
            let clients = APNsClients(maximumKeys: 2, logger: .quiet, now: test.clock.now) { _ in test.configuration() }
            for key in credentials {
                let outcome = try await clients.send(TestAPNs.message(to: "aa"), key: key, to: .production)
                #expect(outcome.isAccepted)
            }
            await eventually { test.simulator.openConnections == 2 }
            #expect(test.simulator.openConnections == 2)
            let (first, last) = (
                await clients.status(of: credentials[0], in: .production),
                await clients.status(of: credentials[2], in: .production)
            )
            #expect(first == nil && last != nil)
        }
    }
}
