import Foundation
import MartletAPI
import MartletCore
import MartletPostgres
import MartletTesting
import Synchronization
import Testing

@testable import NotificationsService

/// How often rules act, judged by the time of the changes.
@Suite struct RuleLimitTests {
    private static let start = Date(timeIntervalSinceNow: -86_400)

    private struct TimedChange: Sendable {
        var object: String
        /// Seconds after `start`.
        var seconds: Double
    }

    /// The number of runs by outcome, as if a follower processed the changes now, and the number of messages.
    private func outcomes(_ rest: String = "", _ changes: [TimedChange]) async throws -> [String: Int] {
        let found = Mutex<[String: Int]>([:])
        try await NotificationsApp.run { app in
            let body = #"{"when":{"every":{"minutes":40320}},"to":[{"user":"ann"}],"content":{"title":"x"}\#(rest)}"#
            let made = try await app.master("PUT", "/notifications/rules/r", body)
            #expect(made.status == 201, "\(made)")
            let space = try await app.space
            let rule = try #require(try await app.service.rules.store.rule("r", in: space))
            let content = try MessageContent(.object([.init("title", .string("x"))]))
            try await app.postgres.withTransaction { transaction in
                for (number, one) in changes.enumerated() {
                    var action = RuleAction(
                        cause: "change:\(number)/x", rule: rule, at: Self.start.addingTimeInterval(one.seconds),
                        object: one.object)
                    action.recipients.users = ["ann"]
                    action.content = content
                    try await app.service.rules.performer.perform(action, in: space, transaction)
                }
            }
            var counts: [String: Int] = [:]
            for row in try await app.postgres.query("SELECT outcome, count(*) FROM notifications.rule_runs GROUP BY 1")
            {
                counts[try row.decode(0)] = try row.decode(1, as: Int.self)
            }
            counts["acted"] = try await app.postgres.query("SELECT acted FROM notifications.rules")[0].decode(
                0, as: Int.self)
            counts["messages"] = try await app.postgres.query("SELECT count(*) FROM notifications.messages")[0].decode(
                0, as: Int.self)
            found.withLock { $0 = counts }
        }
        return found.withLock { $0 }
    }

    @Test func `changes written over hours are all sent, however quickly a backlog is processed`()
        async throws
    {
        let actions = (0..<700).map { TimedChange(object: "Notes/n\($0)", seconds: Double($0) * 31) }
        let found = try await outcomes(#","limit":{"count":2,"seconds":60}"#, actions)
        #expect(found == ["acted": 700, "messages": 700], "\(found)")
    }

    @Test func `changes written at once are limited, however late they are processed`() async throws {
        let actions = (0..<50).map { number in
            let seconds = number < 25 ? 0.0 : 61.0
            return TimedChange(object: "Notes/n\(number)", seconds: seconds + Double(number) / 100)
        }
        let found = try await outcomes(#","limit":{"count":10,"seconds":60}"#, actions)
        #expect(found == ["acted": 20, "messages": 20, "limited": 1], "\(found)")
    }

    @Test func `a loop over many objects ends, and each object is recorded once`() async throws {
        // Twelve objects, one after the other, ten runs a second.
        let actions = (0..<480).map { TimedChange(object: "Notes/n\($0 % 12)", seconds: Double($0) / 10) }
        let found = try await outcomes("", actions)
        #expect(found == ["acted": 360, "messages": 360, "loop": 12], "\(found)")
    }

    @Test func `a slow loop ends within the hour`() async throws {
        // One of forty objects that a loop changes eight times a second: twelve times a minute.
        let actions = (0..<625).map { TimedChange(object: "Notes/n7", seconds: Double($0) * 5) }
        let found = try await outcomes("", actions)
        #expect(found["acted"] == RuleLimits.actionsPerObjectAndHour && found["loop"] == 1, "\(found)")
    }

    @Test func `objects that are written often, but not endlessly, are not a loop`() async throws {
        let actions = (0..<300).map { TimedChange(object: "Scores/s1", seconds: Double($0) * 12) }
        let found = try await outcomes("", actions)
        #expect(found == ["acted": 300, "messages": 300], "\(found)")
    }

    @Test func `a webhook that keeps triggering its rule with new objects is reported`() throws {
        #expect(RuleLimits.suspiciousActionCount(.init()) == 12_000)
        #expect(RuleLimits.suspiciousActionCount(.init(count: 2, seconds: 3_600)) == 3)
        #expect(RuleLimits.suspiciousActionCount(.init(count: 100_000, seconds: 1)) == 120_000_000)
    }
}
