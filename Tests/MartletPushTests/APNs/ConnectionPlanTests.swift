import NIOCore
import Testing

@testable import MartletPush

@Suite struct ConnectionPlanTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private func plan(_ change: (inout APNsConfiguration) -> Void = { _ in }) -> ConnectionPlan {
        var configuration = APNsConfiguration(.production)
        change(&configuration)
        return ConnectionPlan(configuration)
    }

    @Test func `The first connection is opened when a request waits, and only one at a time`() {
        var plan = plan()
        #expect(plan.next(waiting: 0, open: 0, now: start) == .nothing)
        #expect(plan.next(waiting: 1, open: 0, now: start) == .connect)
        #expect(plan.next(waiting: 9_000, open: 0, now: start) == .nothing)
        plan.opened()
        #expect(plan.next(waiting: 500, open: 1, now: start) == .nothing)
    }

    @Test func `Another connection is opened under load, up to the maximum`() {
        var plan = plan()
        #expect(plan.next(waiting: 501, open: 1, now: start) == .connect)
        plan.opened()
        #expect(plan.next(waiting: 10_000, open: 2, now: start) == .nothing)
    }

    @Test func `Failed connections double the pause, and a response ends it`() {
        var plan = plan()
        var now = start
        var waits: [Int64] = []
        for _ in 0..<9 {
            #expect(plan.next(waiting: 1, open: 0, now: now) == .connect)
            plan.failed(now: now, jitter: 1)
            guard case .wait(let time) = plan.next(waiting: 1, open: 0, now: now) else {
                return #expect(Bool(false), "the plan does not wait")
            }
            waits.append((time - now).nanoseconds / 1_000_000_000)
            now = time
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60, 60])
        plan.receivedFirstAnswer()
        #expect(plan.failures == 0)
        _ = plan.next(waiting: 1, open: 0, now: now)
        plan.failed(now: now, jitter: 0)
        #expect(plan.next(waiting: 1, open: 0, now: now) == .wait(until: now + .milliseconds(500)))
    }

    @Test func `A connection that ends without a response is a failure, one that has answered is not`() {
        var plan = plan()
        _ = plan.next(waiting: 1, open: 0, now: start)
        plan.opened()
        plan.ended(hadAnswered: true, now: start, jitter: 1)
        #expect(plan.next(waiting: 1, open: 0, now: start) == .connect)
        plan.opened()
        plan.ended(hadAnswered: false, now: start, jitter: 1)
        #expect(plan.next(waiting: 1, open: 0, now: start) == .wait(until: start + .seconds(1)))
    }
}
