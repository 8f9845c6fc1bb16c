import Foundation
import MartletPostgres
import MartletPushSimulator
import Testing

@testable import NotificationsService

struct DeliveryOrderTests {
    @Test func `a paused message waits, and continues when resumed`() async throws {
        try await DeliveryWorld.run { world in
            try await world.install(20)
            let (paused, other) = (try await world.order(to: 1...10, paused: true), try await world.order(to: 11...20))
            try await world.withCopy { _ async throws in
                #expect(try await world.end(of: other) == ["accepted:1": 10])
                #expect(try await world.deliveries(of: paused) == ["queued:0": 10])
                try await world.postgres.execute("UPDATE notifications.messages SET is_paused = FALSE")
                #expect(try await world.end(of: paused) == ["accepted:1": 10])
            }
        }
    }

    @Test(arguments: [
        "UPDATE notifications.messages SET is_paused = TRUE", "UPDATE notifications.messages SET state = 'cancelled'",
    ])
    func `deliveries not yet sent are held back when their message is stopped`(_ stop: String) async throws {
        // Until the server's SETTINGS arrive, the client sends no request.
        var behaviour = APNsSimulator.Behaviour()
        behaviour.withholdsSettings = true
        try await DeliveryWorld.run(behaviour) { world in
            try await world.install(50)
            let message = try await world.order(to: 1...50)
            try await world.withCopy { _ async throws in
                try await world.wait { try await world.deliveries(of: message) == ["sending:1": 50] }
                try await world.postgres.execute(PostgresQuery(unescaped: stop))
                let end = stop.contains("cancelled") ? "cancelled:0" : "queued:cancelled:0"
                try await world.wait { try await world.deliveries(of: message) == [end: 50] }
            }
            #expect(world.apns.requestCount == 0)
        }
    }

    @Test func `expired deliveries are not sent, and cancelled ones are closed`() async throws {
        try await DeliveryWorld.run { world in
            try await world.install(4)
            let expired = try await world.order(to: 1...2, expires: .seconds(-1))
            let cancelled = try await world.order(to: 3...4, paused: true)
            try await world.postgres.execute(
                "UPDATE notifications.messages SET state = 'cancelled' WHERE id = \(cancelled)")
            try await world.withCopy { copy async throws in
                #expect(try await world.end(of: expired) == ["failed:expired:0": 2])
                #expect(try await world.end(of: cancelled) == ["cancelled:0": 2])
                #expect(try await copy.service.delivery.records.counts(of: expired).map(\.failed) == [2])
            }
            #expect(try await world.state(of: expired) == "sent")
            #expect(try await world.state(of: cancelled) == "cancelled")
            #expect(world.apns.requestCount == 0)
        }
    }

    @Test func `a message is not finished while more of it is planned`() async throws {
        try await DeliveryWorld.run { world in
            try await world.install(4)
            let message = try await world.order(to: 1...2)
            try await world.postgres.execute("UPDATE notifications.messages SET is_planned = FALSE, state = 'planning'")
            try await world.withCopy { _ async throws in
                try await world.wait { try await world.deliveries(of: message) == ["accepted:1": 2] }
                try await world.postgres.execute(
                    "INSERT INTO notifications.deliveries (message, installation, space) VALUES (\(message), \(DeliveryWorld.installation(3)), \(world.space.id))"
                )
                try await world.wait { try await world.deliveries(of: message) == ["accepted:1": 3] }
                #expect(try await world.state(of: message) == "planning")
                try await world.postgres.execute("UPDATE notifications.messages SET is_planned = TRUE")
                #expect(try await world.end(of: message) == ["accepted:1": 3])
            }
        }
    }

    @Test func `later messages increment the badge that an earlier message set`() async throws {
        try await DeliveryWorld.run { world in
            try await world.install(2)
            try await world.withCopy { _ async throws in
                _ = try await world.end(of: try await world.order(#"{"body":"a","badge":7}"#, to: 1...2))
                _ = try await world.end(of: try await world.order(#"{"body":"b","badge":"increment"}"#, to: 2...2))
            }
            let badges = try await world.postgres.query("SELECT badge FROM notifications.installations ORDER BY id").map
            { try $0.decode(0, as: Int.self) }
            #expect(badges == [7, 8])
            #expect(world.apns.requests.map(\.text).filter { $0.contains("\"badge\":7") }.count == 2)
            #expect(world.apns.requests.last?.text.contains("\"badge\":8") == true)
        }
    }

    @Test func `each message raises the badge by one, however often it is sent`() async throws {
        try await DeliveryWorld.run { world in
            try await world.install(1)
            world.apns.set(
                DeliveryWorld.token(1), .answersOnce(status: 429, reason: "TooManyRequests", retryAfter: "1"))
            let messages = [
                try await world.order(#"{"body":"a","badge":"increment"}"#, to: 1...1),
                try await world.order(#"{"body":"b","badge":"increment"}"#, to: 1...1),
                try await world.order(#"{"body":"c","badge":"increment"}"#, to: 1...1),
            ]
            try await world.withCopy { _ async throws in
                for message in messages { _ = try await world.end(of: message) }
            }
            let sent = Set(
                world.apns.requests.map(\.text).compactMap { text in (1...9).first { text.contains("\"badge\":\($0)") }
                })
            #expect(sent == [1, 2, 3])
            #expect(world.apns.requestCount == 4)
            #expect(
                try await world.postgres.query("SELECT badge FROM notifications.installations").first?.decode(0) == 3)
            #expect(
                try await world.postgres.query("SELECT badge FROM notifications.deliveries ORDER BY badge").map {
                    try $0.decode(0, as: Int.self)
                } == [1, 2, 3])
        }
    }
}
