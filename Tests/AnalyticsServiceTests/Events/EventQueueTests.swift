import Foundation
import HTTPTypes
import Hummingbird
import Logging
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import ServiceTesting
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService

@Suite struct EventQueueTests {
    private static func submission(_ keys: Range<Int>, space: Space, properties: String = "{}") -> EventSubmission {
        let rows = keys.map {
            EventRow(
                space: Int(space.id), kind: .track, at: Date(), earliest: Date() - 3_600, key: Int64($0 + 1),
                subject: .init(person: 1), properties: properties)
        }
        return EventSubmission(rows: rows, sizeInBytes: rows.count * 200)
    }

    private static func with(
        _ limits: EventQueue.Limits, isRunning: Bool = true,
        _ body: @Sendable (AnalyticsApp, EventQueue, Space) async throws -> Void
    ) async throws {
        try await AnalyticsApp.run { app async throws in
            let queue = EventQueue(
                store: EventStore(postgres: app.postgres, now: { Date() }), people: PeopleStore(postgres: app.postgres),
                limits: limits,
                logger: .silent)
            let running = isRunning ? Task { try await queue.run() } : nil
            try await body(app, queue, try await app.space)
            guard let running else { return }
            running.cancel()
            try await running.value
        }
    }

    @Test func `concurrent writes are all stored when they are acknowledged`() async throws {
        try await Self.with(EventQueue.Limits()) { app, queue, space in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<300 {
                    group.addTask {
                        let keys = number * 7..<(number + 1) * 7
                        try await queue.write(Self.submission(keys, space: space))
                        let there = try await app.count(
                            "analytics.events WHERE key > \(keys.lowerBound) AND key <= \(keys.upperBound)")
                        #expect(there == 7)
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await app.count("analytics.events") == 2_100)
        }
    }

    @Test func `a full queue refuses further requests, and writes those already waiting`() async throws {
        var limits = EventQueue.Limits()
        limits.events = 100
        try await Self.with(limits, isRunning: false) { app, queue, space in
            async let first: Void = queue.write(Self.submission(0..<60, space: space))
            try await eventually("the events wait") { queue.waitingEvents == 60 }
            await #expect { try await queue.write(Self.submission(60..<120, space: space)) } throws: {
                ($0 as? ServiceError)?.code == .tooManyRequests
                    && ($0 as? ServiceError)?.response(requestID: nil).headers[.retryAfter] == "1"
            }
            let running = Task { try await queue.run() }
            try await first
            try await queue.write(Self.submission(60..<300, space: space))
            #expect(try await app.count("analytics.events") == 300)
            running.cancel()
            try await running.value
            await #expect { try await queue.write(Self.submission(300..<301, space: space)) } throws: {
                ($0 as? ServiceError)?.code == .unavailable
            }
        }
    }

    @Test func `the queue's size in bytes is also limited`() async throws {
        var limits = EventQueue.Limits()
        limits.sizeInBytes = 1_000
        try await Self.with(limits, isRunning: false) { app, queue, space in
            async let first: Void = queue.write(Self.submission(0..<4, space: space))
            try await eventually("the events wait") { queue.waitingEvents == 4 }
            await #expect { try await queue.write(Self.submission(4..<6, space: space)) } throws: {
                ($0 as? ServiceError)?.code == .tooManyRequests
            }
            let running = Task { try await queue.run() }
            try await first
            running.cancel()
            try await running.value
        }
    }

    @Test func `waiting requests are written at shutdown`() async throws {
        try await Self.with(EventQueue.Limits(), isRunning: false) { app, queue, space in
            async let first: Void = queue.write(Self.submission(0..<60, space: space))
            async let second: Void = queue.write(Self.submission(60..<120, space: space))
            try await eventually("the events wait") { queue.waitingEvents == 120 }
            let running = Task { try await queue.run() }
            running.cancel()
            try await first
            try await second
            try await running.value
            #expect(try await app.count("analytics.events") == 120)
        }
    }

    @Test func `a request that PostgreSQL refuses does not fail others`() async throws {
        try await Self.with(EventQueue.Limits(), isRunning: false) { app, queue, space in
            async let good: Void = queue.write(Self.submission(0..<10, space: space))
            let bad = Task { try await queue.write(Self.submission(10..<20, space: space, properties: "{")) }
            async let alsoGood: Void = queue.write(Self.submission(20..<30, space: space))
            try await eventually("the events wait") { queue.waitingEvents == 30 }
            let running = Task { try await queue.run() }
            try await good
            try await alsoGood
            await #expect(throws: PostgresError.self) { try await bad.value }
            running.cancel()
            try await running.value
            #expect(try await app.count("analytics.events") == 20)
        }
    }

    @Test func `a missing partition is created by the first event of the day`() async throws {
        try await AnalyticsApp.run { app async throws in
            try await app.batch(track("a"))
            try await app.database.withSuperuser { database in
                // Midnight may have passed since.
                let day = try await database.query(
                    "SELECT to_char(received AT TIME ZONE 'UTC', 'YYYYMMDD') FROM analytics.events"
                ).first!.decode(0, as: String.self)
                try await database.execute(
                    "DROP TABLE \(PostgresIdentifier(schema: "analytics", name: "events_" + day)!)")
            }
            #expect(try await app.batch(track("b"), track("c", at: Date() - 86_400))["accepted"] == "2")
            #expect(try await app.events().map(\.name) == ["c", "b"])
        }
    }
}
