import Foundation
import MartletCore
import MartletPostgres
import MartletPush
import MartletPushSimulator
import MartletTesting
import NIOCore
import ServiceTesting
import Testing

@testable import NotificationsService

struct DeliverySendingTests {
    @Test func `each device gets a message once, with the delivery's id and a collapse id, and the message finishes`()
        async throws
    {
        try await DeliveryWorld.run { world in
            try await world.install(300)
            let message = try await world.order(to: 1...300)
            try await world.withCopy { copy async throws in
                #expect(try await world.end(of: message) == ["accepted:1": 300])
                #expect(try await copy.service.delivery.records.counts(of: message).map(\.accepted) == [300])
            }
            #expect(world.apns.messageCountsByDeliveries == [1: 300])
            #expect(world.apns.deviceCount == 300)
            #expect(try await world.state(of: message) == "sent")
            let request = try #require(world.apns.requests.first { $0.device == DeliveryWorld.token(7) })
            let pushID: String? = try await world.postgres.query(
                "SELECT push_id::text FROM notifications.deliveries WHERE installation = \(DeliveryWorld.installation(7))"
            ).first?.decode(0)
            #expect(request.id == pushID)
            #expect(request.headers["apns-collapse-id"] == message.uuidString.lowercased())
            #expect(request.headers["apns-topic"] == "com.example.app")
            #expect(world.apns.connectionCount <= 2)
        }
    }

    @Test(arguments: [
        (SimulatedDevice.unregistered(since: Date()), #"{"body":"a"}"#, "failed:Unregistered:1", false),
        (
            .unregistered(since: Date(timeIntervalSince1970: 1_000_000_000)), #"{"body":"a"}"#, "failed:Unregistered:1",
            true
        ),
        (
            .answers(status: 400, reason: "DeviceTokenNotForTopic"), #"{"body":"a"}"#,
            "failed:DeviceTokenNotForTopic:1", true
        ),
        (.answers(status: 413, reason: "PayloadTooLarge"), #"{"body":"a"}"#, "failed:PayloadTooLarge:1", true),
        (.answersOnce(status: 429, reason: "TooManyRequests", retryAfter: "1"), #"{"body":"a"}"#, "accepted:2", true),
        (
            .answersOnce(status: 503, reason: "ServiceUnavailable", retryAfter: "1"), #"{"body":"a"}"#, "accepted:2",
            true
        ),
        (.answersOnce(status: 500, reason: "InternalServerError"), #"{"body":"a"}"#, "accepted:2", true),
        (.answersOnce(status: 503, reason: "Shutdown"), #"{"body":"a"}"#, "accepted:1", true),
        (.silent, #"{"body":"a","atMostOnce":true}"#, "unknown:answer-timeout:1", true),
    ])
    func `the answer of APNs determines the outcome`(
        _ device: SimulatedDevice, content: String, end: String, keepsToken: Bool
    )
        async throws
    {
        // Long enough for the answer to the other device on a slow machine.
        try await DeliveryWorld.run(answerLimit: end.hasPrefix("unknown") ? .seconds(20) : .seconds(300)) { world in
            try await world.install(2)
            world.apns.set(DeliveryWorld.token(1), device)
            let message = try await world.order(content, to: 1...2)
            try await world.withCopy { _ async throws in
                let ends = try await world.end(of: message)
                #expect(ends[end] == (end == "accepted:1" ? 2 : 1), "\(ends)")
                if !keepsToken { try await world.wait { !(try await world.hasToken(1)) } }
            }
            #expect(try await world.hasToken(1) == keepsToken)
            #expect(try await world.hasToken(2))
            #expect(world.apns.deliveries(to: DeliveryWorld.token(2)).values.map(\.self) == [1])
        }
    }

    @Test func `a delivery that was sent but not answered is resent with the same ids`() async throws {
        try await DeliveryWorld.run { world in
            try await world.install(1)
            world.apns.plan(.reset(1))
            let message = try await world.order(to: 1...1)
            try await world.withCopy { _ async throws in #expect(try await world.end(of: message) == ["accepted:2": 1])
            }
            // The simulator processed both: the device got two messages, which it shows as one.
            #expect(world.apns.deliveries(to: DeliveryWorld.token(1)).values.map(\.self) == [2])
            #expect(
                Set(world.apns.requests.map { $0.headers["apns-collapse-id"] }) == [message.uuidString.lowercased()])
        }
    }

    @Test
    func `a credential that APNs refuses is held, reported as broken, and used again once it is replaced`()
        async throws
    {
        try await DeliveryWorld.run(setUp: { $0.delivery.rejectionPeriod = .seconds(1) }) { world in
            let unknownKey = SimulatedKey()
            try await world.put(try DeliveryWorld.apnsFile(unknownKey))
            try await world.install(30)
            let message = try await world.order(to: 1...30)
            try await world.withCopy { _ async throws in
                let reason: PostgresQuery =
                    "SELECT broken_reason FROM notifications.credentials WHERE broken IS NOT NULL"
                try await world.wait { try await world.postgres.query(reason).count == 1 }
                #expect(try await world.postgres.query(reason).first?.decode(0) == "InvalidProviderToken")
                try await world.wait {
                    try await world.deliveries(of: message).keys.allSatisfy {
                        $0.hasPrefix("queued:") && $0.hasSuffix(":0")
                    }
                }
                world.apns.trust(unknownKey)
                try await world.put(try DeliveryWorld.apnsFile(unknownKey))
                #expect(try await world.end(of: message) == ["accepted:1": 30])
            }
            #expect(world.apns.messageCountsByDeliveries == [1: 30])
        }
    }

    @Test func `a credential that is refused for a moment is not broken`() async throws {
        try await DeliveryWorld.run(setUp: { $0.delivery.rejectionPeriod = .seconds(1) }) { world in
            try await world.install(3)
            for number in 1...2 {
                world.apns.set(DeliveryWorld.token(number), .answersOnce(status: 403, reason: "InvalidProviderToken"))
            }
            let message = try await world.order(to: 1...3)
            try await world.withCopy { _ async throws in #expect(try await world.end(of: message) == ["accepted:1": 3])
            }
            #expect(
                try await world.postgres.query("SELECT FROM notifications.credentials WHERE broken IS NOT NULL").isEmpty
            )
        }
    }

    @Test func `a broken credential is probed with single messages, and recovers by itself`() async throws {
        try await DeliveryWorld.run(setUp: { $0.delivery.rejectionPeriod = .seconds(1) }) { world in
            let unknownKey = SimulatedKey()
            try await world.put(try DeliveryWorld.apnsFile(unknownKey))
            try await world.install(30)
            let message = try await world.order(to: 1...30)
            try await world.withCopy { copy async throws in
                let due: PostgresQuery =
                    "SELECT FROM notifications.credentials WHERE broken IS NOT NULL AND next_try > now() + interval '50 seconds'"
                try await world.wait { try await world.postgres.query(due).count == 1 }
                try await world.wait { copy.service.delivery.sender.inFlightCount == 0 }
                let before = world.apns.requestCount
                // The hold ends. One request is sent and refused; no more follow.
                try await world.postgres.execute("UPDATE notifications.credentials SET next_try = now()")
                try await world.wait { world.apns.requestCount > before }
                try await world.wait { try await world.postgres.query(due).count == 1 }
                try await Task.sleep(for: .milliseconds(500))
                #expect(world.apns.requestCount == before + 1)
                // The problem is fixed at Apple.
                world.apns.trust(unknownKey)
                try await world.wait {
                    // A refused delivery is due again only after its hold, and the test cannot move PostgreSQL's
                    // clock. So each round makes a probe due, until a delivery is due for it.
                    try await world.postgres.execute(
                        "UPDATE notifications.credentials SET next_try = now() WHERE broken IS NOT NULL")
                    return try await world.postgres.query("SELECT FROM notifications.credentials WHERE broken IS NULL")
                        .count == 1
                }
                #expect(try await world.end(of: message) == ["accepted:1": 30])
            }
            #expect(world.apns.messageCountsByDeliveries == [1: 30])
        }
    }

    @Test func `deliveries with a broken credential wait, while those with a good one continue`() async throws {
        let fcm = try await FCMSimulator.start()
        defer { fcm.stop() }
        try await DeliveryWorld.run { world in
            let account = try fcm.serviceAccount().withValue { try JSONEncoder().encode(["json": $0]) }
            try await world.put(try JSONDecoder().decode(FCMAccountFile.self, from: account))
            try await world.postgres.execute(
                "UPDATE notifications.credentials SET broken = now(), broken_reason = 'UNAUTHENTICATED' WHERE kind = 'fcm'"
            )
            try await world.install(20)
            for number in 21...40 { try await world.install(number, .fcm, token: "t\(number)") }
            let (message, old) = (try await world.order(to: 1...40), try await world.order(to: 1...40, isOld: true))
            try await world.withCopy { _ async throws in
                try await world.wait { try await world.deliveries(of: message)["accepted:1"] == 20 }
                // The deliveries of the old message have no service. It is looked up when they are claimed.
                try await world.wait {
                    try await world.deliveries(of: old) == ["accepted:1": 20, "queued:credential-broken:0": 20]
                }
            }
            #expect(try await world.deliveries(of: message) == ["accepted:1": 20, "queued:0": 20])
            #expect(
                try await world.postgres.query(
                    "SELECT FROM notifications.deliveries WHERE message = \(message) AND claims > 0"
                ).count == 20)
        }
    }

    @Test(arguments: [true, false])
    func `an installation that this version cannot read affects no other`(isOld: Bool) async throws {
        try await DeliveryWorld.run { world in
            try await world.install(10)
            try await world.database.withSuperuser { client in
                try await client.executeScript(
                    "ALTER TABLE notifications.installations DROP CONSTRAINT installations_platform_check; "
                        + "UPDATE notifications.installations SET platform = 'fridge' WHERE token LIKE '%7'")
            }
            let message = try await world.order(to: 1...10, isOld: isOld)
            try await world.withCopy { _ async throws in
                try await world.wait {
                    try await world.deliveries(of: message) == ["accepted:1": 9, "queued:not-readable:1": 1]
                }
                // Suppose that no version that understands the message ever runs again.
                try await world.postgres.execute(
                    "UPDATE notifications.deliveries SET due = now(), attempts = 11 WHERE state = 'queued'")
                #expect(try await world.end(of: message) == ["accepted:1": 9, "failed:not-readable:12": 1])
            }
        }
    }

    @Test(arguments: [false, true])
    func
        `a message that this version cannot read does not block others, and fails if no other version sends it for long`(
            isOver: Bool
        ) async throws
    {
        try await DeliveryWorld.run(setUp: { if isOver { $0.delivery.unreadableLifetime = .milliseconds(200) } }) {
            world in
            try await world.install(4)
            // The messages that cannot be read fill more than one page.
            var strange: [UUID] = []
            for _ in 0...DeliveryQueue.maximumWork {
                strange.append(try await world.order(#"{"hologram":1}"#, to: 1...2))
            }
            let other = try await world.order(#"{"body":"b"}"#, to: 1...4)
            // Another version has just sent one of its deliveries.
            let begun = strange[0]
            try await world.postgres.execute(
                """
                UPDATE notifications.deliveries SET state = 'accepted', updated = now() + interval '1 hour'
                WHERE message = \(begun) AND installation = \(DeliveryWorld.installation(1))
                """)
            try await world.withCopy { _ async throws in
                #expect(try await world.end(of: other) == ["accepted:1": 4])
                guard isOver else { return }
                for message in strange.dropFirst() { #expect(try await world.end(of: message) == ["cancelled:0": 2]) }
            }
            for message in isOver ? [begun] : strange { #expect(try await world.state(of: message) == "sending") }
            let row = try await world.postgres.query(
                "SELECT count(*), min(problem) FROM notifications.messages WHERE state = 'failed'")[0]
            #expect(try row.decode(0, as: Int.self) == (isOver ? strange.count - 1 : 0))
            let problem = try row.decode(1, as: String?.self)
            #expect(!isOver || problem?.contains("cannot read the message") == true)
            #expect(world.apns.requestCount == 4)
        }
    }

    @Test func `a browser's host that does not answer does not delay others`() async throws {
        let (browsers, silent) = (try await WebPushSimulator.start(), try SilentPort())
        defer {
            browsers.stop()
            silent.stop()
        }
        try await DeliveryWorld.run { world in
            let vapid = VAPIDKey.makePrivateKey().withValue {
                ["privateKey": $0, "subject": "mailto:push@example.com"]
            }
            try await world.put(try JSONDecoder().decode(VAPIDKeyFile.self, from: try JSONEncoder().encode(vapid)))
            for number in 1...210 {
                let one = browsers.subscribe()
                let endpoint = number <= 200 ? silent.address + "/\(number)" : one.endpoint
                try await world.install(
                    number, .webpush, token: endpoint, publicKey: one.publicKey, secret: one.authenticationSecret)
            }
            let message = try await world.order(to: 1...210)
            let copy = DeliveryWorld.Copy(world)
            // On a slow machine, some deliveries of either kind may have been retried by now.
            func accepted() async throws -> Int {
                try await world.deliveries(of: message).filter { $0.key.hasPrefix("accepted") }.values.reduce(0, +)
            }
            try await world.wait { try await accepted() >= 10 }
            #expect(try await accepted() == 10)
            await copy.die()
        }
    }

    @Test func `many bad tokens hold the credential, and are not forgotten`() async throws {
        try await DeliveryWorld.run { world in
            try await world.install(80)
            for number in 1...80 {
                world.apns.set(DeliveryWorld.token(number), .answers(status: 400, reason: "BadDeviceToken"))
            }
            try await world.order(to: 1...80)
            try await world.withCopy { _ async throws in
                try await world.wait {
                    try await world.postgres.query(
                        "SELECT FROM notifications.credentials WHERE broken_reason LIKE '%sandbox and production%'"
                    ).count == 1
                }
            }
            #expect(
                try await world.postgres.query("SELECT FROM notifications.installations WHERE token IS NOT NULL").count
                    == 80)
        }
    }

    @Test func `an installation without a token, and one without a credential, fail with the reason`() async throws {
        try await DeliveryWorld.run { world in
            try await world.install(1)
            try await world.install(2, .fcm, token: "a-token")
            try await world.postgres.execute(
                "UPDATE notifications.installations SET token = NULL WHERE service = 'apns'")
            let message = try await world.order(to: 1...3)
            try await world.withCopy { _ async throws in
                #expect(try await world.end(of: message) == ["failed:no-token:1": 2, "failed:no-credential:1": 1])
            }
        }
    }

    @Test func `FCM and browsers get their messages, and gone tokens are forgotten`() async throws {
        let (fcm, browsers) = (try await FCMSimulator.start(), try await WebPushSimulator.start())
        defer {
            fcm.stop()
            browsers.stop()
        }
        try await DeliveryWorld.run(setUp: { $0.devices.hosts.fcmAddress = fcm.address }) { world in
            let account = try fcm.serviceAccount().withValue { try JSONEncoder().encode(["json": $0]) }
            try await world.put(try JSONDecoder().decode(FCMAccountFile.self, from: account))
            let vapid = VAPIDKey.makePrivateKey().withValue {
                ["privateKey": $0, "subject": "mailto:push@example.com"]
            }
            try await world.put(try JSONDecoder().decode(VAPIDKeyFile.self, from: try JSONEncoder().encode(vapid)))
            let (one, other) = (browsers.subscribe(), browsers.subscribe())
            browsers.answer(other, status: 410)
            fcm.answer("gone", status: 404, code: "UNREGISTERED")
            try await world.install(1, .fcm, token: "good")
            try await world.install(2, .fcm, token: "gone")
            try await world.install(
                3, .webpush, token: one.endpoint, publicKey: one.publicKey, secret: one.authenticationSecret)
            try await world.install(
                4, .webpush, token: other.endpoint, publicKey: other.publicKey, secret: other.authenticationSecret)
            let message = try await world.order(to: 1...4)
            try await world.withCopy { _ async throws in
                #expect(
                    try await world.end(of: message) == [
                        "accepted:1": 2, "failed:UNREGISTERED:1": 1, "failed:status-410:1": 1,
                    ])
                try await world.wait {
                    try await world.postgres.query("SELECT FROM notifications.installations WHERE token IS NOT NULL")
                        .count == 2
                }
            }
            #expect(fcm.deliveries(to: "good") == 1)
            #expect(browsers.messages(of: one).first?.text?.contains("Hello") == true)
            #expect(try await world.hasToken(1))
            #expect(try await world.hasToken(3))
        }
    }
}
