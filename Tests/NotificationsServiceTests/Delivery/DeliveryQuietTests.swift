import Foundation
import MartletCore
import MartletPostgres
import MartletPushSimulator
import Testing

@testable import NotificationsService

/// Quiet hours at the time of sending: planning cannot know how long an outage or a back-off will delay a delivery.
struct DeliveryQuietTests {
    @Test(arguments: [false, true])
    func `a delivery due in quiet hours waits for their end by the device's clock, and this is not an attempt`(
        isOnce: Bool
    ) async throws {
        try await DeliveryWorld.run { world in
            try await world.install(2)
            // In this zone it is noon when it is midnight in UTC, so the two devices never have quiet hours together.
            try await world.postgres.execute(
                "UPDATE notifications.installations SET time_zone = 'Etc/GMT-12' WHERE id = \(DeliveryWorld.installation(2))"
            )
            let message = try await world.order(
                #"{"body":"b","atMostOnce":\#(isOnce)}"#, to: 1...2, paused: true, expires: .seconds(7_200))
            let timing = String(NotificationsApp.quiet.dropFirst(#""timing":"#.count))
            try await world.postgres.execute(
                "UPDATE notifications.messages SET timing = \(timing)::json, is_paused = FALSE WHERE id = \(message)")
            try await world.postgres.execute(
                "UPDATE notifications.deliveries SET due = now() - interval '3 hours' WHERE message = \(message)")
            try await world.withCopy { _ async throws in
                try await world.wait {
                    try await world.deliveries(of: message) == ["accepted:1": 1, "queued:quiet-hours:0": 1]
                }
            }
            #expect(world.apns.messageCountsByDeliveries == [1: 1])
            #expect(world.apns.deliveries(to: DeliveryWorld.token(2)).count == 1)
            let due: Date = try await world.postgres.query(
                "SELECT due FROM notifications.deliveries WHERE message = \(message) AND state = 'queued'")[0].decode(0)
            #expect(due > Date().addingTimeInterval(1_800) && due < Date().addingTimeInterval(3_700), "\(due)")
            // The quiet hours end.
            try await world.postgres.execute("UPDATE notifications.messages SET timing = '{}' WHERE id = \(message)")
            try await world.postgres.execute(
                "UPDATE notifications.deliveries SET due = now() WHERE message = \(message)")
            try await world.withCopy { _ async throws in #expect(try await world.end(of: message) == ["accepted:1": 2])
            }
        }
    }

    @Test(
        arguments: [
            ("22:00", "07:00", "2026-06-01T23:30:00Z", "UTC", "2026-06-02T07:00:00Z"),
            ("22:00", "07:00", "2026-06-01T06:59:59Z", "UTC", "2026-06-01T07:00:00Z"),
            ("22:00", "07:00", "2026-06-01T07:00:00Z", "UTC", nil),
            ("22:00", "07:00", "2026-06-01T21:59:59Z", "UTC", nil),
            ("22:00", "07:00", "2026-06-01T21:30:00Z", "Europe/Berlin", "2026-06-02T05:00:00Z"),
            ("12:00", "14:00", "2026-06-01T13:10:30Z", "UTC", "2026-06-01T14:00:00Z"),
            // Summer time begins at 2:00, and ends at 3:00.
            ("22:00", "02:30", "2026-03-29T00:30:00Z", "Europe/Berlin", "2026-03-29T01:30:00Z"),
            ("22:00", "07:00", "2026-10-24T23:30:00Z", "Europe/Berlin", "2026-10-25T06:00:00Z"),
        ] as [(String, String, String, String, String?)])
    func `quiet hours end by local time`(
        _ from: String, _ to: String, _ now: String, _ zone: String, _ end: String?
    ) throws {
        let timing = try MessageTiming(JSONValue(parsing: #"{"quietHours":{"from":"\#(from)","to":"\#(to)"}}"#.utf8))
        let found = try timing.endOfQuietHours(
            at: Date(now, strategy: .iso8601), in: #require(TimeZone(identifier: zone)))
        #expect(try found == end.map { try Date($0, strategy: .iso8601) })
    }
}
