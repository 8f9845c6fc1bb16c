import NIOCore
import Testing

@testable import GatewayService

@Suite struct LoadLimitTests {
    @Test func `Under overload, accepted requests wait little and the service stays busy`() {
        var simulation = Simulation(clients: 1_000)
        simulation.run(seconds: 20)
        #expect(simulation.limit.limit != nil)
        simulation.forgetResults()
        simulation.run(seconds: 10)
        #expect(simulation.longestWait <= .milliseconds(50), "1,000 without a limit")
        #expect(simulation.answered >= 9_500, "the service can answer 10,000")
        #expect(simulation.refused > 0)
    }

    @Test func `The limit ends with the overload`() {
        var simulation = Simulation(clients: 1_000)
        simulation.run(seconds: 20)
        #expect(simulation.limit.limit != nil)
        simulation.clients = 5
        simulation.run(seconds: 20)
        #expect(simulation.limit.limit == nil)
        simulation.forgetResults()
        simulation.run(seconds: 10)
        #expect(simulation.refused == 0)
    }

    @Test func `Slow answers among fast ones do not mean overload`() {
        let limit = LoadLimit()
        var now = NIODeadline.uptimeNanoseconds(0)
        for round in 0..<10_000 {
            for _ in 0..<100 { limit.begin(at: now) }
            now = now + .milliseconds(10)
            for place in 0..<100 {
                limit.answered(after: round > 100 && place >= 30 ? .milliseconds(300) : .milliseconds(10), at: now)
            }
        }
        #expect(limit.limit == nil)
        #expect(limit.waiting == 0)
    }

    @Test(arguments: [4, 100]) func `Answers that become slow permanently do not count as overload after some minutes`(
        clients: Int
    ) {
        let limit = LoadLimit()
        var now = NIODeadline.uptimeNanoseconds(0)
        for time in Array(repeating: TimeAmount.milliseconds(1), count: 1_000)
            + Array(repeating: .milliseconds(100), count: 4_000)
        {
            while limit.waiting < clients, limit.admits(at: now) { limit.begin(at: now) }
            now = now + time
            while limit.waiting > 0 { limit.answered(after: time, at: now) }
        }
        #expect(limit.limit == nil)
    }

    @Test(arguments: [false, true]) func `Time that a service spends waiting for others does not count as its load`(
        isReported: Bool
    ) {
        let limit = LoadLimit()
        var now = NIODeadline.uptimeNanoseconds(0)
        for round in 0..<1_000 {
            for _ in 0..<100 { limit.begin(at: now) }
            now = now + .milliseconds(10)
            let wait = TimeAmount.milliseconds(round < 100 ? 0 : 500)
            for _ in 0..<100 {
                limit.answered(after: .milliseconds(10) + wait, waited: isReported ? wait : .zero, at: now)
            }
        }
        #expect((limit.limit == nil) == isReported)
        limit.begin(at: now)
        limit.answered(after: .milliseconds(10), waited: .milliseconds(11), at: now)
        #expect(limit.waiting == 0)
    }

    @Test func `Refusals and failures are not counted as answers`() {
        let limit = LoadLimit()
        var now = NIODeadline.uptimeNanoseconds(0)
        for _ in 0..<1_000 {
            for _ in 0..<100 { limit.begin(at: now) }
            now = now + .milliseconds(50)
            for _ in 0..<100 { limit.failed() }
        }
        #expect(limit.waiting == 0)
        #expect(limit.limit == nil)
    }

    /// A service that answers one request a millisecond, and clients that send their next request after each answer.
    /// A refused client asks again after 100 ms.
    private struct Simulation {
        var clients: Int
        let limit = LoadLimit()
        private(set) var answered = 0
        private(set) var refused = 0
        private(set) var longestWait = TimeAmount.zero
        private var now = NIODeadline.uptimeNanoseconds(0)
        private var queue: [NIODeadline] = []
        private var paused: [NIODeadline] = []

        init(clients: Int) { self.clients = clients }

        mutating func forgetResults() { (answered, refused, longestWait) = (0, 0, .zero) }

        mutating func run(seconds: Int) {
            for _ in 0..<seconds * 1_000 {
                paused.removeAll { $0 <= now }
                while queue.count + paused.count < clients {
                    if limit.admits(at: now) {
                        limit.begin(at: now)
                        queue.append(now)
                    } else {
                        refused += 1
                        paused.append(now + .milliseconds(100))
                    }
                }
                now = now + .milliseconds(1)
                guard !queue.isEmpty else { continue }
                let wait = now - queue.removeFirst()
                longestWait = max(longestWait, wait)
                answered += 1
                limit.answered(after: wait, at: now)
            }
        }
    }
}
