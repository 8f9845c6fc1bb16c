import MartletAPI
import MartletCore
import Synchronization
import Testing

@testable import MartletHTTP

/// Look-ups at a service that fails, or does not answer at all.
@Suite struct LookupBreakerTests {
    private enum Away: Error, Equatable { case first, second }

    private static func principal(_ number: Int) -> Principal {
        var principal = Principal(kind: .client, appID: "a", appNumber: 1, environment: .live, credentialID: "c")
        principal.userID = "u\(number)"
        return principal
    }

    @Test func `After a few failures in a row nobody is asked; when the pause is over one tries, and what becomes of it counts for all`() throws {
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

    /// A service that takes questions and answers none until it is told to fail.
    private final class Hole: Sendable {
        private struct State {
            var asked = 0
            var refused = 0
            var hanging: [CheckedContinuation<Void, Never>] = []
            var isOver = false
        }
        private let state = Mutex(State())

        var asked: Int { state.withLock { $0.asked } }
        /// How many did not even wait.
        var refused: Int { state.withLock { $0.refused } }

        func noteRefusal() { state.withLock { $0.refused += 1 } }

        func load() async throws -> UserRoles {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    state.asked += 1
                    if !state.isOver { state.hanging.append(continuation) }
                    return state.isOver
                }
                if isOver { continuation.resume() }
            }
            throw OutgoingFailure.timeout
        }

        /// The time of all look-ups is up.
        func end() {
            let hanging = state.withLock { state in
                state.isOver = true
                return state.hanging
            }
            for continuation in hanging { continuation.resume() }
        }
    }

    @Test func `Of a crowd at a service that never answers few ask, so many wait, and all go on when the first ones' time is up`() async throws {
        var limits = LookupLimits()
        (limits.underWay, limits.waiting, limits.pause) = (4, 20, .seconds(3_600))
        let hole = Hole()
        let names = RoleNames(limits: limits) { _ in try await hole.load() }
        let failed = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<100 {
                group.addTask {
                    do {
                        _ = try await names.roles(of: Self.principal(number))
                        return false
                    } catch {
                        if error is LookupsFull { hole.noteRefusal() }
                        return true
                    }
                }
            }
            // The others were turned away while nothing was answered yet.
            while hole.refused < 76 || hole.asked < 4 { await Task.yield() }
            #expect(hole.asked == 4)
            hole.end()
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(failed == 100 && hole.refused == 76)
        // Between the first failure and the third two more may have had their turn.
        let asked = hole.asked
        #expect((4...6).contains(asked), "\(asked)")
        for number in 100..<200 {
            await #expect(throws: OutgoingFailure.timeout) { try await names.roles(of: Self.principal(number)) }
        }
        #expect(hole.asked == asked, "nobody asks while it is paused")
    }
}
