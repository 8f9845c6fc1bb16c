import MartletAPI
import MartletCore
import MartletTesting
import Synchronization
import Testing

@testable import MartletHTTP

/// Look-ups at a service that fails, or never answers.
@Suite struct LookupBreakerTests {
    private enum Away: Error, Equatable { case first, second }

    private static func principal(_ number: Int) -> Principal {
        var principal = Principal(kind: .client, appID: "a", appNumber: 1, environment: .live, credentialID: "c")
        principal.userID = "u\(number)"
        return principal
    }

    @Test
    func
        `After a few failures in a row no one asks; after the pause one caller tries, and the result counts for all`()
        throws
    {
        let start = ContinuousClock.now
        var breaker = LookupBreaker(failures: 2, pause: .seconds(5))
        #expect(try !breaker.begin(at: start))
        breaker.fail(Away.first, isTrial: false, at: start)
        #expect(try !breaker.begin(at: start))
        breaker.succeed()
        for _ in 0..<2 {
            #expect(try !breaker.begin(at: start))
            breaker.fail(Away.second, isTrial: false, at: start)
        }
        #expect(throws: Away.second) { try breaker.check(at: start + .seconds(4)) }
        let later = start + .seconds(5)
        try breaker.check(at: later)
        #expect(try breaker.begin(at: later))
        #expect(throws: Away.second) { try breaker.begin(at: later + .seconds(60)) }
        breaker.giveUp()
        #expect(try breaker.begin(at: later))
        breaker.fail(Away.first, isTrial: true, at: later)
        #expect(throws: Away.first) { try breaker.begin(at: later + .seconds(4)) }
        #expect(try breaker.begin(at: later + .seconds(5)))
        breaker.succeed()
        #expect(try !breaker.begin(at: later))
    }

    private final class Refusals: Sendable {
        /// How many were refused without waiting.
        let count = Atomic(0)
    }

    @Test
    func
        `With an unresponsive service, few callers ask, a limited number wait, and all continue after the first timeout`()
        async throws
    {
        var limits = LookupLimits()
        (limits.concurrent, limits.waiting, limits.pause) = (4, 20, .seconds(3_600))
        let hole = BlackHole()
        let refusals = Refusals()
        let names = RoleNames(limits: limits) { _ in
            await hole.call()
            throw OutgoingFailure.timeout
        }
        let failed = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<100 {
                group.addTask {
                    do {
                        _ = try await names.roles(of: Self.principal(number))
                        return false
                    } catch {
                        if error is LookupsFull { refusals.count.add(1, ordering: .relaxed) }
                        return true
                    }
                }
            }
            // The others were refused before anything was answered.
            try? await eventually("the others are turned away") {
                refusals.count.load(ordering: .relaxed) >= 76 && hole.callCount >= 4
            }
            #expect(hole.callCount == 4)
            hole.end()
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(failed == 100 && refusals.count.load(ordering: .relaxed) == 76)
        // Between the first failure and the third, two more may have had their turn.
        let callCount = hole.callCount
        #expect((4...6).contains(callCount), "\(callCount)")
        for number in 100..<200 {
            await #expect(throws: OutgoingFailure.timeout) { try await names.roles(of: Self.principal(number)) }
        }
        #expect(hole.callCount == callCount, "no calls are made during the pause")
    }
}
