import Foundation
import MartletPostgres
import MartletPush
import MartletPushSimulator
import NIOCore
import Testing

@testable import NotificationsService

struct DeliverySharingTests {
    @Test func `two instances share the deliveries, and each is sent once`() async throws {
        var behaviour = APNsSimulator.Behaviour()
        behaviour.withholdsAnswers = true
        try await DeliveryWorld.run(behaviour, setUp: { $0.delivery.concurrency = 400 }) { world in
            try await world.install(5_000)
            let message = try await world.order(to: 1...5_000)
            try await world.withCopy { one async throws in
                try await world.withCopy { other async throws in
                    // Neither instance gets an answer before both have taken some deliveries.
                    try await world.wait {
                        one.service.delivery.sender.inFlightCount > 0 && other.service.delivery.sender.inFlightCount > 0
                    }
                    world.apns.change { $0.withholdsAnswers = false }
                    let ends = try await world.end(of: message)
                    #expect(ends == ["accepted:1": 5_000])
                    // An instance learns of the end of its last write after others can see what it wrote.
                    try await world.wait {
                        [one, other].allSatisfy { $0.service.delivery.sender.inFlightCount == 0 }
                    }
                }
            }
            #expect(world.apns.messageCountsByDeliveries == [1: 5_000])
            #expect(world.apns.deviceCount == 5_000)
            // Both took part, because each has its own connections.
            #expect(world.apns.connectionCount >= 2)
        }
    }

    @Test func `when an instance dies others take over, and each device shows the message once`() async throws {
        var behaviour = APNsSimulator.Behaviour()
        behaviour.maximumStreams = 100
        try await DeliveryWorld.run(behaviour) { world in
            try await world.install(1_000)
            let message = try await world.order(to: 1...1_000)
            try await world.postpone(message, from: 501)
            let victim = DeliveryWorld.Copy(world)
            try await world.wait { try await world.deliveries(of: message)["accepted:1"] == 500 }
            // The instance dies after APNs has got some of the other deliveries and before APNs answers.
            world.apns.change { $0.withholdsAnswers = true }
            try await world.makeDue(message)
            try await world.wait { world.apns.deviceCount >= 600 }
            await victim.die()
            world.apns.change { $0.withholdsAnswers = false }
            #expect(try await world.deliveries(of: message).keys.contains { $0.hasPrefix("sending") })
            try await world.expireLeases(of: message)
            try await world.withCopy { _ async throws in
                let ends = try await world.end(of: message)
                #expect(ends.filter { $0.key.hasPrefix("accepted:") }.values.reduce(0, +) == 1_000, "\(ends)")
                #expect(ends.keys.contains { $0.hasSuffix(":2") })
            }
            #expect(world.apns.deviceCount == 1_000)
            // Duplicates have the same ids, so the device shows one message.
            for number in 1...1_000 { #expect(world.apns.deliveries(to: DeliveryWorld.token(number)).count == 1) }
            #expect(
                Set(world.apns.requests.map { $0.headers["apns-collapse-id"] }) == [message.uuidString.lowercased()])
        }
    }

    @Test func `an at-most-once delivery is not resent after a death`() async throws {
        var behaviour = APNsSimulator.Behaviour()
        behaviour.maximumStreams = 50
        try await DeliveryWorld.run(
            behaviour,
            setUp: { $0.delivery.concurrency = 200 }
        ) { world in
            try await world.install(600)
            let message = try await world.order(#"{"body":"once","atMostOnce":true}"#, to: 1...600)
            try await world.postpone(message, from: 301)
            let victim = DeliveryWorld.Copy(world)
            try await world.wait { try await world.deliveries(of: message)["accepted:1"] == 300 }
            world.apns.change { $0.withholdsAnswers = true }
            try await world.makeDue(message)
            try await world.wait { world.apns.deviceCount > 300 }
            await victim.die()
            world.apns.change { $0.withholdsAnswers = false }
            try await world.expireLeases(of: message)
            try await world.withCopy { _ async throws in
                let ends = try await world.end(of: message)
                #expect((ends["accepted:1"] ?? 0) + (ends["unknown:lease-expired:1"] ?? 0) == 600, "\(ends)")
                #expect((1...AtMostOnceWindow.maximum).contains(ends["unknown:lease-expired:1"] ?? 0), "\(ends)")
            }
            #expect(world.apns.messageCountsByDeliveries.keys.allSatisfy { $0 == 1 })
        }
    }

    @Test(arguments: [true, false])
    func `an instance that dies under load loses few at-most-once deliveries`(isOnce: Bool)
        async throws
    {
        var behaviour = APNsSimulator.Behaviour()
        behaviour.withholdsSettings = true
        try await DeliveryWorld.run(behaviour) { world in
            try await world.install(2_000)
            let message = try await world.order(#"{"body":"once","atMostOnce":\#(isOnce)}"#, to: 1...2_000)
            let victim = DeliveryWorld.Copy(world)
            // The instance claims as many as it can and sends none.
            let full = isOnce ? AtMostOnceWindow.minimum : 2_000
            try await world.wait { try await world.deliveries(of: message)["sending:1"] == full }
            try await Task.sleep(for: .milliseconds(300))
            #expect(try await world.deliveries(of: message)["sending:1"] == full)
            await victim.die()
            world.apns.change { $0.withholdsSettings = false }
            try await world.expireLeases(of: message)
            try await world.withCopy { _ async throws in
                let ends = try await world.end(of: message)
                #expect(
                    ends == (isOnce ? ["accepted:1": 1_990, "unknown:lease-expired:1": 10] : ["accepted:2": 2_000]))
            }
            #expect(world.apns.messageCountsByDeliveries == [1: isOnce ? 1_990 : 2_000])
        }
    }

    @Test func `an instance that is shut down returns what it has not sent`() async throws {
        var behaviour = APNsSimulator.Behaviour()
        behaviour.withholdsSettings = true
        try await DeliveryWorld.run(behaviour, setUp: { $0.delivery.shutdownGrace = .seconds(120) }) { world in
            try await world.install(700)
            let message = try await world.order(to: 1...700)
            let copy = DeliveryWorld.Copy(world)
            try await world.wait { try await world.deliveries(of: message) == ["sending:1": 700] }
            await copy.shutDown()
            #expect(try await world.deliveries(of: message) == ["queued:cancelled:0": 700])
            #expect(world.apns.requestCount == 0)
        }
    }

    @Test func `an instance that is shut down waits for the answers to what it has sent`() async throws {
        var behaviour = APNsSimulator.Behaviour()
        behaviour.answerDelay = .milliseconds(400)
        behaviour.firstStreams = nil
        try await DeliveryWorld.run(
            behaviour, drainLimit: .seconds(120), setUp: { $0.delivery.shutdownGrace = .seconds(120) }
        ) { world in
            try await world.install(40)
            let message = try await world.order(to: 1...40)
            let copy = DeliveryWorld.Copy(world)
            try await world.wait { world.apns.requestCount == 40 }
            await copy.shutDown()
            #expect(try await world.deliveries(of: message) == ["accepted:1": 40])
            #expect(world.apns.messageCountsByDeliveries == [1: 40])
        }
    }

    @Test func `a lease is renewed until the answer arrives`() async throws {
        var behaviour = APNsSimulator.Behaviour()
        behaviour.answerDelay = .seconds(300)
        try await DeliveryWorld.run(behaviour, setUp: { $0.delivery.lease = .seconds(30) }) { world in
            try await world.install(1)
            let message = try await world.order(to: 1...1)
            let copies = [DeliveryWorld.Copy(world), DeliveryWorld.Copy(world)]
            func lease() async throws -> Double? {
                try await world.postgres.query(
                    "SELECT extract(epoch FROM leased_until)::float8 FROM notifications.deliveries WHERE message = \(message)"
                )[0]
                .decode(0)
            }
            try await world.wait { world.apns.requestCount == 1 }
            let first = try await lease() ?? 0
            try await world.wait { try await lease() ?? 0 > first + 5 }
            #expect(try await world.deliveries(of: message) == ["sending:1": 1])
            #expect(world.apns.requestCount == 1)
            for copy in copies { await copy.die() }
        }
    }
}
