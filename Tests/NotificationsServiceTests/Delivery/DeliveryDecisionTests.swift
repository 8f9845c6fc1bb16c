import Foundation
import MartletPush
import Testing

@testable import NotificationsService

/// What is decided without a table or a network.
struct DeliveryDecisionTests {
    private static let start = Date(timeIntervalSinceReferenceDate: 800_000_000)
    private static let pushID = UUID()

    @Test(arguments: [
        (PushFailure(.notSent, reason: "wait-timeout"), 12, false, Duration.seconds(7) as Duration?, Verdict.again(after: .seconds(7), reason: "wait-timeout", counts: false)),
        (PushFailure(.notSent, reason: "cancelled"), 1, false, nil, .again(after: .zero, reason: "cancelled", counts: false)),
        (PushFailure(.unknown, reason: "connection-lost"), 1, false, nil, .again(after: .seconds(5), reason: "connection-lost", counts: true)),
        (PushFailure(.unknown, reason: "connection-lost"), 3, false, nil, .ended(.unknown, reason: "connection-lost")),
        (PushFailure(.unknown, reason: "connection-lost"), 1, true, nil, .ended(.unknown, reason: "connection-lost")),
        (PushFailure(.deviceGone(unlessRegisteredSince: start), reason: "Unregistered"), 1, false, nil, .ended(.failed, reason: "Unregistered")),
        (PushFailure(.messageRejected, reason: "BadTopic"), 1, false, nil, .ended(.failed, reason: "BadTopic")),
        (PushFailure(.backOff(.device, atLeast: .seconds(9)), reason: "TooManyRequests"), 12, false, nil, .ended(.failed, reason: "TooManyRequests")),
        (PushFailure(.credentialBroken, reason: "InvalidProviderToken"), 12, true, .seconds(5), .again(after: .seconds(5), reason: "InvalidProviderToken", counts: false)),
    ])
    func `a failure decides whether a delivery is sent again`(
        _ failure: PushFailure, attempt: Int, isAtMostOnce: Bool, hold: Duration?, verdict: Verdict
    ) {
        #expect(Verdict(.failed(failure), attempt: attempt, isAtMostOnce: isAtMostOnce, sentAs: Self.pushID, hold: hold) == verdict)
    }

    @Test func `a receipt is kept where it says more than the delivery's own id`() {
        for (id, receipt) in [(Self.pushID.uuidString.lowercased(), nil), ("projects/p/messages/1", "projects/p/messages/1")] as [(String, String?)] {
            let verdict = Verdict(.accepted(PushReceipt(id: id)), attempt: 1, isAtMostOnce: false, sentAs: Self.pushID, hold: nil)
            #expect(verdict == .ended(.accepted, receipt: receipt))
        }
    }

    @Test func `holds grow while nothing is taken, up to what was asked for, and end when something is`() {
        var holds = Holds()
        let place = Holds.Place(space: 1, service: .apns, isSandbox: false)
        var time = Self.start
        var lengths: [TimeInterval] = []
        for _ in 0..<5 {
            let length = holds.backOff(place, atLeast: 6, at: time)
            // Answers to what had left before change nothing.
            let rest = holds.backOff(place, atLeast: 6, at: time + length / 2)
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
        holds.clear([place])
        #expect(holds.limit(1, [.apns], at: time) == nil)
        _ = holds.backOff(Holds.Place(space: nil, service: .fcm, isSandbox: false), atLeast: 60, at: time)
        #expect(holds.limit(7, [.fcm], at: time) == 0)
    }

    @Test(arguments: [(50, 11, true), (50, 10, false), (49, 49, false), (200, 40, false), (200, 60, true)])
    func `the brake trips when more than a fifth of at least 50 answers are bad`(answers: Int, bad: Int, trips: Bool) {
        var brake = TokenBrake()
        var tripped = false
        // The first opens the count; the other bad ones come last.
        for number in 0..<answers {
            let isBad = number == 0 || number > answers - bad
            let token = GoneToken(space: 1, installation: UUID(), token: "t\(number)", unlessRegisteredSince: Self.start)
            tripped = brake.note(1, bad: isBad ? token : nil, at: Self.start) || tripped
        }
        #expect(tripped == trips)
        let taken = [brake.take(at: Self.start).count, brake.take(at: Self.start + 61).count, brake.take(at: Self.start + 61).count]
        #expect(taken == [trips || answers < 50 ? 0 : bad, !trips && answers < 50 ? bad : 0, 0])
    }

    @Test func `bad tokens of more than a minute ago do not count`() {
        var brake = TokenBrake()
        for number in 0..<120 {
            let token = GoneToken(space: 1, installation: UUID(), token: "t\(number)", unlessRegisteredSince: Self.start)
            let trips = brake.note(1, bad: token, at: Self.start + Double(number) * 2)
            #expect(!trips)
        }
    }

    @Test func `room is shared between apps, then between an app's messages`() {
        func work(_ space: Int32, _ count: Int) -> [DeliveryQueue.Work] {
            (0..<count).map { _ in .init(message: UUID(), space: space, services: [.apns]) }
        }
        func shares(_ work: [DeliveryQueue.Work], room: Int = 5_000, limits: [Int32: Int] = [:]) -> [Int32: [Int]] {
            let shares = ClaimPlan.shares(work, room: room, badge: { _ in nil }, limit: { limits[$0.space] })
            return Dictionary(grouping: shares) { share in work.first { $0.message == share.message }?.space ?? 0 }.mapValues { $0.map(\.limit) }
        }
        #expect(shares(work(1, 1)) == [1: [1_000]])
        #expect(shares(work(1, 1) + work(2, 2)) == [1: [500], 2: [250, 250]])
        #expect(shares(work(1, 1), room: 300) == [1: [300]])
        #expect(shares(work(1, 1) + work(2, 1), limits: [1: 0]) == [2: [1_000]])
        #expect(shares(work(1, 1) + work(2, 1), limits: [1: 20]) == [1: [20], 2: [500]])
        #expect(shares(work(1, 1), limits: [1: 0]) == [:])
        #expect(shares(work(1, 3), room: 2).values.flatMap(\.self).reduce(0, +) == 2)
        #expect(shares((1...200).flatMap { work($0, 1) }, room: 100).values.flatMap(\.self).reduce(0, +) == 100)
    }
}
