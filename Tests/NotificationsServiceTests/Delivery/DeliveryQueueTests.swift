import Foundation
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import NotificationsService

/// The statements by which instances share deliveries, without sending anything.
struct DeliveryQueueTests {
    private static let lease = Duration.seconds(60)

    private func claim(_ queue: DeliveryQueue, _ message: UUID, _ limit: Int = 10, _ service: PushService? = .apns)
        async throws -> [ClaimedDelivery]
    {
        try await queue.claim([ClaimShare(message: message, service: service, limit: limit)], lease: Self.lease)
    }

    @Test
    func
        `writing a result again after an unknown outcome does not take the delivery from its new owner`()
        async throws
    {
        try await DeliveryWorld.run { world in
            let queue = DeliveryQueue(postgres: world.postgres)
            try await world.install(1)
            let message = try await world.order(to: 1...1)
            let first = try #require(try await claim(queue, message).first)
            let returned = DeliveryResult(first, .again(after: .zero, reason: "held", counts: false))
            try await queue.write([returned], within: .seconds(10))
            let second = try #require(try await claim(queue, message).first)
            // The delivery was returned unsent, which counts as another claim, but not as another attempt.
            #expect(second.attempt == first.attempt && second.claim == first.claim + 1 && second.pushID == first.pushID)
            for verdict in [returned.verdict, .failed("late")] {
                var late = returned
                late.verdict = verdict
                try await queue.write([late], within: .seconds(10))
                #expect(try await world.deliveries(of: message) == ["sending:held:1": 1])
            }
            try await queue.write([DeliveryResult(second, .ended(.accepted))], within: .seconds(10))
            try await queue.write([DeliveryResult(second, .ended(.accepted))], within: .seconds(10))
            #expect(try await world.deliveries(of: message) == ["accepted:1": 1])
            #expect(try await DeliveryRecords(postgres: world.postgres).counts(of: message).map(\.accepted) == [1])
        }
    }

    @Test func `leases are renewed without waiting for pending writes`() async throws {
        try await DeliveryWorld.run { world in
            let queue = DeliveryQueue(postgres: world.postgres)
            try await world.install(3)
            let claims = try await claim(queue, try await world.order(to: 1...3))
            let inFlight = InFlightDeliveries()
            inFlight.add(claims, once: [], at: .now)
            let entries = inFlight.leased(before: .now + .seconds(1))
            #expect(entries.count == 3)
            let other = world.database.client(for: "notifications")
            let busy = DeliveryWorld.installation(2)
            let renewed = try await other.withTransaction { transaction in
                try await transaction.execute(
                    "UPDATE notifications.deliveries SET opened = now() WHERE installation = \(busy)")
                return try await queue.renew(entries, lease: Self.lease, within: .seconds(20))
            }
            await other.close()
            #expect(Set(renewed) == Set(claims.filter { $0.installation != busy }.map(\.key)))
            #expect(try await queue.renew(entries, lease: Self.lease, within: .seconds(20)).count == 3)
        }
    }

    @Test func `a claim returns only deliveries of the requested service`() async throws {
        try await DeliveryWorld.run { world in
            let queue = DeliveryQueue(postgres: world.postgres)
            try await world.install(5)
            for number in 6...8 { try await world.install(number, .fcm, token: "t\(number)") }
            let (message, old) = (try await world.order(to: 1...8), try await world.order(to: 1...2, isOld: true))
            let work = try await queue.work()
            #expect(
                Set(work.map { "\($0.message) \($0.lane.service?.rawValue ?? "")" }) == [
                    "\(message) apns", "\(message) fcm", "\(old) ",
                ])
            #expect(work.first { $0.message == old }?.services == [.apns])
            #expect(try await claim(queue, message, 10, .fcm).map(\.service) == [.fcm, .fcm, .fcm])
            #expect(try await claim(queue, message, 4, .apns).count == 4)
            #expect(
                try await claim(queue, old, 10, nil).map(\.lane)
                    == Array(repeating: DeliveryLane(space: world.space.id, service: nil), count: 2))
            #expect(try await queue.work().map(\.lane.service) == [.apns])
        }
    }
}
