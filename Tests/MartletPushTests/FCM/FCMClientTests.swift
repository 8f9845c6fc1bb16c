import Foundation
import MartletCore
import MartletHTTP
import MartletPushSimulator
import Testing

@testable import MartletPush

@Suite struct FCMClientTests {
    private struct Setup {
        var simulator: FCMSimulator
        var client: FCMClient
        var clock: MovedClock
    }

    private func withFCM(delay: Duration = .zero, _ body: (Setup) async throws -> Void) async throws {
        let clock = MovedClock()
        let simulator = try await FCMSimulator.start(answerDelay: delay, clock: clock.now)
        defer { simulator.stop() }
        let client = FCMClient(
            try FCMServiceAccount(json: simulator.serviceAccount()), client: OutgoingClient(.anywhere),
            address: simulator.address, now: clock.now)
        try await body(Setup(simulator: simulator, client: client, clock: clock))
    }

    private func message(_ token: String) -> FCMMessage {
        var message = FCMMessage(to: .token(token))
        message.title = "Hello"
        return message
    }

    @Test func `A message arrives`() async throws {
        try await withFCM { test in
            let outcome = await test.client.send(message("t1"))
            guard case .accepted(let receipt) = outcome else { return #expect(Bool(false), "\(outcome)") }
            #expect(receipt.id?.hasPrefix("projects/martlet-test/messages/") == true)
            #expect(
                test.simulator.messages.map(\.text) == [#"{"message":{"token":"t1","notification":{"title":"Hello"}}}"#]
            )
            let tried = await test.client.send(message("t1"), isTest: true)
            #expect(tried.isAccepted && test.simulator.deliveries(to: "t1") == 1)
        }
    }

    @Test(arguments: [(404, "UNREGISTERED"), (403, "SENDER_ID_MISMATCH"), (400, "INVALID_TOKEN")])
    func `A token that FCM reports as gone is to be forgotten`(status: Int, code: String) async throws {
        try await withFCM { test in
            test.simulator.answer("t1", status: status, code: code)
            let outcome = await test.client.send(message("t1"))
            #expect(outcome.meaning == .deviceGone(unlessRegisteredSince: test.clock.now()))
        }
    }

    @Test(
        arguments: [
            (400, "INVALID_ARGUMENT", nil, PushFailure.Meaning.messageRejected),
            (401, "THIRD_PARTY_AUTH_ERROR", nil, .messageRejected),
            (403, "PERMISSION_DENIED", nil, .credentialBroken), (404, "NOT_FOUND", nil, .credentialBroken),
            (429, "QUOTA_EXCEEDED", "30", .backOff(.credential, atLeast: .seconds(30))),
            (429, "RESOURCE_EXHAUSTED", nil, .backOff(.credential, atLeast: .seconds(60))),
            (503, "UNAVAILABLE", "5", .backOff(.service, atLeast: .seconds(5))),
            (500, "INTERNAL", nil, .backOff(.service, atLeast: .seconds(10))),
            (500, "UNSPECIFIED_ERROR", nil, .backOff(.service, atLeast: .seconds(10))),
        ] as [(Int, String, String?, PushFailure.Meaning)])
    func `Each of FCM's errors leads to the right next step`(
        status: Int, code: String, retryAfter: String?, meaning: PushFailure.Meaning
    ) async throws {
        try await withFCM { test in
            test.simulator.answer("t1", status: status, code: code, retryAfter: retryAfter)
            let outcome = await test.client.send(message("t1"))
            #expect(outcome == .failed(PushFailure(meaning, reason: code, status: status)))
            #expect(test.simulator.deliveries(to: "t1") == 0)
        }
    }

    @Test func `Many messages share an access token, and fetch the next one when it expires`() async throws {
        try await withFCM(delay: .milliseconds(30)) { test in
            await withTaskGroup(of: Bool.self) { group in
                for index in 0..<100 { group.addTask { await test.client.send(message("t\(index)")).isAccepted } }
                for await isAccepted in group { #expect(isAccepted) }
            }
            #expect(test.simulator.tokenRequests == 1)
            test.clock.move(by: 3_200)
            let still = await test.client.send(message("t1"))
            #expect(still.isAccepted && test.simulator.tokenRequests == 1)
            test.clock.move(by: 100)
            let renewed = await test.client.send(message("t1"))
            #expect(renewed.isAccepted && test.simulator.tokenRequests == 2)
        }
    }

    @Test func `A revoked access token is fetched again, once`() async throws {
        try await withFCM { test in
            _ = await test.client.send(message("t1"))
            test.simulator.revokeTokens()
            let outcome = await test.client.send(message("t1"))
            #expect(outcome.isAccepted && test.simulator.tokenRequests == 2 && test.simulator.deliveries(to: "t1") == 2)
        }
    }

    @Test func `Without an access token nothing is sent, and the next token is not requested at once`() async throws {
        try await withFCM { test in
            test.simulator.setTokenFailure(400)
            for _ in 0..<3 {
                let outcome = await test.client.send(message("t1"))
                #expect(outcome.failure == PushFailure(.credentialBroken, reason: "invalid_grant", status: 400))
            }
            #expect(test.simulator.tokenRequests == 1)
            test.clock.move(by: 6)
            test.simulator.setTokenFailure(503, error: "unavailable")
            let outcome = await test.client.send(message("t1"))
            #expect(
                outcome.failure
                    == PushFailure(.backOff(.credential, atLeast: .seconds(60)), reason: "unavailable", status: 503))
            test.clock.move(by: 6)
            test.simulator.setTokenFailure(nil)
            let last = await test.client.send(message("t1"))
            #expect(last.isAccepted)
        }
    }

    @Test func `Nothing is sent without a server, nor to an internal address`() async throws {
        let simulator = try await FCMSimulator.start()
        defer { simulator.stop() }
        let account = try FCMServiceAccount(json: simulator.serviceAccount())
        let inside = FCMClient(account, address: simulator.address, now: { Date() })
        let refused = await inside.send(message("t1"))
        #expect(refused.meaning == .notSent && simulator.tokenRequests == 0)
        let port = try FreePort.find()
        let nowhere = FCMClient(
            account, client: OutgoingClient(.anywhere), address: "http://127.0.0.1:\(port)", now: { Date() })
        let outcome = await nowhere.send(message("t1"))
        #expect(outcome.failure == PushFailure(.notSent, reason: "unreachable"))
    }

    @Test func `A message has what was set, and one that FCM would refuse is refused before sending`() {
        var message = FCMMessage(to: .condition("'a' in topics"))
        message.body = "b"
        message.imageURL = "https://example.com/i.png"
        message.data = ["z": "1", "a": "ü"]
        message.priority = .high
        message.timeToLive = .seconds(60)
        message.collapseKey = "c"
        message.androidNotification.channelID = "chat"
        message.androidNotification.bodyArguments = ["x"]
        message.apnsHeaders = ["apns-priority": "5"]
        message.apnsPayload = APNsPayload(alert: APNsAlert(title: "t"))
        message.webPush = .object([.init("headers", .object([.init("TTL", .string("1"))]))])
        #expect(
            message.json().text
                == #"{"message":{"condition":"'a' in topics","notification":{"body":"b","image":"https://example.com/i.png"},"data":{"a":"ü","z":"1"},"android":{"collapse_key":"c","priority":"HIGH","ttl":"60s","notification":{"channel_id":"chat","body_loc_args":["x"]}},"apns":{"headers":{"apns-priority":"5"},"payload":{"aps":{"alert":{"title":"t"}}}},"webpush":{"headers":{"TTL":"1"}}}}"#
        )
        #expect(message.fault == nil)
        message.data["k"] = String(repeating: "x", count: 4_096)
        #expect(message.fault == .payloadTooLarge(sizeInBytes: message.payloadSizeInBytes))
        for name in ["from", "google.x", "gcm.y", "message_type"] {
            message.data = [name: "1"]
            #expect(message.fault == .reservedName(name))
        }
        message.data = ["": "1"]
        #expect(message.fault == .emptyName)
        #expect(FCMMessage(to: .token("")).fault == .invalidTarget)
    }

    @Test func `An invalid service account is refused by member`() async throws {
        let simulator = try await FCMSimulator.start()
        defer { simulator.stop() }
        let good = try simulator.serviceAccount().withValue { try JSONValue(parsing: $0.utf8) }
        func error(_ json: JSONValue) -> PushCredentialError? {
            do {
                _ = try FCMServiceAccount(json: Secret(json.text))
                return nil
            } catch {
                return error
            }
        }
        func with(_ name: String, _ value: JSONValue) -> JSONValue {
            guard case .object(let members) = good else { return good }
            return .object(members.filter { $0.name != name } + [.init(name, value)])
        }
        #expect(error(good) == nil)
        for (member, value) in [
            ("type", JSONValue.string("authorized_user")), ("project_id", .string("../x")), ("project_id", .null),
            ("client_email", .string("x")),
            ("token_uri", .string("file:///etc/passwd")), ("token_uri", .string("http://example.com/token")),
            ("private_key", .string("no key")),
            ("private_key", .number("1")),
        ] {
            #expect(error(with(member, value)) == .invalidServiceAccount(member: member))
        }
        #expect(error(.string("x")) == .invalidServiceAccount(member: "type"))
        let account = try FCMServiceAccount(json: simulator.serviceAccount())
        #expect(!"\(account)".contains("PRIVATE KEY"))
    }
}
