import Foundation
import MartletPush
import Testing

@testable import NotificationsService

/// Decisions that need neither a table nor a network.
struct DeliveryDecisionTests {
    private static let start = Date(timeIntervalSinceReferenceDate: 800_000_000)
    private static let pushID = UUID()

    @Test(arguments: [
        (
            PushFailure(.notSent, reason: "wait-timeout"), 12, false, Duration.seconds(7) as Duration?,
            Verdict.again(after: .seconds(7), reason: "wait-timeout", counts: false)
        ),
        (
            PushFailure(.notSent, reason: "cancelled"), 1, false, nil,
            .again(after: .zero, reason: "cancelled", counts: false)
        ),
        (
            PushFailure(.unknown, reason: "connection-lost"), 1, false, nil,
            .again(after: .seconds(5), reason: "connection-lost", counts: true)
        ),
        (PushFailure(.unknown, reason: "connection-lost"), 3, false, nil, .ended(.unknown, reason: "connection-lost")),
        (PushFailure(.unknown, reason: "connection-lost"), 1, true, nil, .ended(.unknown, reason: "connection-lost")),
        (
            PushFailure(.deviceGone(unlessRegisteredSince: start), reason: "Unregistered"), 1, false, nil,
            .ended(.failed, reason: "Unregistered")
        ),
        (PushFailure(.messageRejected, reason: "BadTopic"), 1, false, nil, .ended(.failed, reason: "BadTopic")),
        (
            PushFailure(.backOff(.device, atLeast: .seconds(9)), reason: "TooManyRequests"), 12, false, nil,
            .ended(.failed, reason: "TooManyRequests")
        ),
        (
            PushFailure(.credentialBroken, reason: "InvalidProviderToken"), 12, true, .seconds(5),
            .again(after: .seconds(5), reason: "InvalidProviderToken", counts: false)
        ),
    ])
    func `a failure determines whether a delivery is retried`(
        _ failure: PushFailure, attempt: Int, isAtMostOnce: Bool, hold: Duration?, verdict: Verdict
    ) {
        #expect(
            Verdict(.failed(failure), attempt: attempt, isAtMostOnce: isAtMostOnce, sentAs: Self.pushID, hold: hold)
                == verdict)
    }

    @Test func `a receipt is stored if it contains more than the delivery's own id`() {
        for (id, receipt) in [
            (Self.pushID.uuidString.lowercased(), nil), ("projects/p/messages/1", "projects/p/messages/1"),
        ] as [(String, String?)] {
            let verdict = Verdict(
                .accepted(PushReceipt(id: id)), attempt: 1, isAtMostOnce: false, sentAs: Self.pushID, hold: nil)
            #expect(verdict == .ended(.accepted, receipt: receipt))
        }
    }

    @Test func `a hold doubles while nothing succeeds, up to the requested pause, and ends with a success`() {
        var holds = Holds()
        let target = Holds.Target(space: 1, service: .apns, isSandbox: false)
        var time = Self.start
        var lengths: [TimeInterval] = []
        for _ in 0..<5 {
            let length = holds.backOff(target, upTo: 6, at: time)
            // Answers to earlier requests change nothing.
            let rest = holds.backOff(target, upTo: 6, at: time + length / 2)
            #expect(rest == length / 2)
            lengths.append(length)
            time += length
        }
        #expect(lengths == [1, 2, 4, 6, 6])
        #expect(holds.end(1, .apns, isSandbox: false, at: time - 1) == time)
        #expect(holds.end(1, .apns, isSandbox: true, at: time - 1) == nil)
        #expect(holds.end(2, .apns, isSandbox: false, at: time - 1) == nil)
        #expect(holds.limit(1, [.apns], at: time - 1) == 0)
        #expect(holds.limit(1, [.apns, .fcm], at: time - 1) == nil)
        #expect(holds.limit(1, [.apns], at: time) == Holds.trialCount)
        holds.clear([target])
        #expect(holds.limit(1, [.apns], at: time) == nil)
        _ = holds.backOff(Holds.Target(space: nil, service: .fcm, isSandbox: false), upTo: 60, at: time)
        #expect(holds.limit(7, [.fcm], at: time) == 0)
    }

    @Test(arguments: [(50, 11, true), (50, 10, false), (49, 49, false), (200, 40, false), (200, 60, true)])
    func `the breaker trips when more than a fifth of at least 50 answers are bad tokens`(
        answers: Int, bad: Int, trips: Bool
    ) {
        var breaker = TokenRateBreaker()
        var tripped = false
        // The first one starts the count; the other bad ones come last.
        for number in 0..<answers {
            let isBad = number == 0 || number > answers - bad
            let token = GoneToken(
                space: 1, installation: UUID(), token: "t\(number)", unlessRegisteredSince: Self.start)
            tripped = breaker.record(1, bad: isBad ? token : nil, at: Self.start) || tripped
        }
        #expect(tripped == trips)
        let taken = [
            breaker.take(at: Self.start).count, breaker.take(at: Self.start + 61).count,
            breaker.take(at: Self.start + 61).count,
        ]
        #expect(taken == [trips || answers < 50 ? 0 : bad, !trips && answers < 50 ? bad : 0, 0])
    }

    @Test func `bad tokens older than a minute do not count`() {
        var breaker = TokenRateBreaker()
        for number in 0..<120 {
            let token = GoneToken(
                space: 1, installation: UUID(), token: "t\(number)", unlessRegisteredSince: Self.start)
            let trips = breaker.record(1, bad: token, at: Self.start + Double(number) * 2)
            #expect(!trips)
        }
    }

    @Test func `capacity is shared between apps, then between an app's messages and their services`() {
        func work(_ space: Int32, _ count: Int, _ service: PushService? = .apns) -> [DeliveryQueue.Work] {
            (0..<count).map { _ in
                .init(message: UUID(), lane: DeliveryLane(space: space, service: service), services: [.apns])
            }
        }
        func shares(
            _ work: [DeliveryQueue.Work], room: Int = 5_000, once: Int? = nil, limits: [DeliveryLane: Int] = [:]
        ) -> [Int32: [Int]] {
            var plan = ClaimPlan(room: room, onceRoom: once ?? 0) { _ in (nil, once != nil) }
            let shares = plan.shares(work, ofSpace: { _ in .max }, ofLane: { limits[$0.lane] })
            #expect(
                shares.allSatisfy { share in
                    work.contains { $0.message == share.message && $0.lane.service == share.service }
                })
            return Dictionary(grouping: shares) { share in work.first { $0.message == share.message }?.lane.space ?? 0 }
                .mapValues { $0.map(\.limit) }
        }
        let (first, held) = (DeliveryLane(space: 1, service: .apns), DeliveryLane(space: 1, service: .fcm))
        #expect(shares(work(1, 1)) == [1: [1_000]])
        #expect(shares(work(1, 1) + work(2, 2)) == [1: [500], 2: [250, 250]])
        #expect(shares(work(1, 1), room: 300) == [1: [300]])
        #expect(shares(work(1, 1) + work(2, 1), limits: [first: 0]) == [2: [1_000]])
        #expect(shares(work(1, 1) + work(2, 1), limits: [first: 20]) == [1: [20], 2: [500]])
        #expect(shares(work(1, 1), limits: [first: 0]) == [:])
        // A held service takes no capacity, and its probes are shared by all messages.
        #expect(shares(work(1, 2) + work(1, 2, .fcm), limits: [held: 0]) == [1: [500, 500]])
        #expect(shares(work(1, 3), limits: [first: 20])[1]?.reduce(0, +) == 20)
        #expect(shares(work(1, 3), room: 2).values.flatMap(\.self).reduce(0, +) == 2)
        #expect(shares((1...200).flatMap { work($0, 1) }, room: 100).values.flatMap(\.self).reduce(0, +) == 100)
        // At-most-once deliveries have a window of their own for all apps together.
        #expect(shares(work(1, 2) + work(2, 1), once: 30).values.flatMap(\.self).reduce(0, +) == 30)
        #expect(shares(work(1, 2), once: 0) == [:])
    }

    @Test func `few at-most-once deliveries are in flight, and very few while nothing succeeds`() {
        var window = AtMostOnceWindow()
        #expect(window.size == AtMostOnceWindow.minimum)
        for _ in 0..<1_000 { window.record(.ended(.accepted)) }
        #expect(window.size == AtMostOnceWindow.maximum)
        window.record(.failed("Unregistered"))
        window.record(.again(after: .seconds(1), reason: "TooManyRequests", counts: true))
        #expect(window.size == AtMostOnceWindow.maximum)
        window.record(.again(after: .seconds(1), reason: "wait-timeout", counts: false))
        #expect(window.size == AtMostOnceWindow.minimum)
    }

    @Test func `a credential is broken after three refusals over at least half a minute without a success`() {
        var rejections = CredentialRejections()
        let (lane, rejectionPeriod) = (DeliveryLane(space: 1, service: .apns), Duration.seconds(30))
        func results(_ times: [TimeInterval], _ version: Date? = nil) -> [Bool] {
            times.map {
                rejections.record(lane, version: version, rejectionPeriod: rejectionPeriod, at: Self.start + $0)
            }
        }
        #expect(results([0, 1, 3, 29, 30]) == [false, false, false, false, true])
        rejections.clear(lane)
        #expect(results([100, 200, 201]) == [false, false, true])
        // Another key starts from zero.
        #expect(results([202, 260], Self.start) == [false, false])
    }

    @Test func `after a hold, a few deliveries probe a browser's host until one is answered`() {
        var holds = Holds()
        let (slow, other) = (
            Holds.Target(space: 1, service: .webpush, host: "slow"),
            Holds.Target(space: 1, service: .webpush, host: "other")
        )
        #expect(holds.admit(slow, at: Self.start) == nil)
        _ = holds.backOff(slow, upTo: 60, at: Self.start)
        #expect(holds.admit(slow, at: Self.start) == Self.start + 1)
        #expect(holds.admit(other, at: Self.start) == nil)
        // Claims are independent of hosts.
        #expect(holds.limit(1, [.webpush], at: Self.start) == nil)
        #expect(holds.end(1, .webpush, isSandbox: false, at: Self.start) == nil)
        let admitted = (0..<50).filter { _ in holds.admit(slow, at: Self.start + 2) == nil }.count
        #expect(admitted == Holds.trialCount)
        holds.clear([slow])
        #expect(holds.admit(slow, at: Self.start + 2) == nil)
        // Probes without a result do not close it for good.
        _ = holds.backOff(other, upTo: 60, at: Self.start)
        for _ in 0..<50 { _ = holds.admit(other, at: Self.start + 2) }
        #expect(holds.admit(other, at: Self.start + 3) != nil)
        #expect(holds.admit(other, at: Self.start + 200) == nil)
    }

    @Test func `a lasting problem is logged every few minutes, with its count`() {
        var warnings = WarningLimiter()
        #expect(warnings.record("a", at: Self.start) == 1)
        #expect((0..<5).allSatisfy { warnings.record("a", at: Self.start + Double($0)) == nil })
        #expect(warnings.record("b", at: Self.start) == 1)
        #expect(warnings.record("a", at: Self.start + WarningLimiter.interval) == 6)
        let logged = (0..<5_000).filter { warnings.record("\($0)", at: Self.start + 301) != nil }.count
        #expect(logged < 1_001)
    }
}
