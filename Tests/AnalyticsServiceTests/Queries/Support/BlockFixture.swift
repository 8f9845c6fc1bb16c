import Foundation
import MartletPostgres
import MartletTesting

@testable import AnalyticsEvents
@testable import AnalyticsService

extension AnalyticsApp {
    /// Writes events that were received at a time (ISO 8601).
    func receive(_ events: [TestEvent], at received: String) async throws {
        try await postgres.execute(
            "SELECT analytics.make_events_day((\(received)::text::timestamptz AT TIME ZONE 'UTC')::date)")
        try await makeDay()
        try await postgres.withTransaction { transaction in
            try await insert(events, transaction)
            try await transaction.execute(
                "UPDATE analytics.events SET received = \(received)::text::timestamptz WHERE received = now()")
        }
    }

    func blockStore(eventsPerBlock: Int = BlockStore.eventsPerBlock) -> BlockStore {
        BlockStore(postgres: postgres, eventsPerBlock: eventsPerBlock, settlingTime: 0)
    }

    /// Builds blocks of all events from the beginning; returns the number of blocks.
    @discardableResult
    func makeBlocks(eventsPerBlock: Int = BlockStore.eventsPerBlock) async throws -> Int {
        try await postgres.execute("UPDATE analytics.block_reach SET reached = '-infinity'")
        return try await makeFurtherBlocks(eventsPerBlock: eventsPerBlock)
    }

    @discardableResult
    func makeFurtherBlocks(eventsPerBlock: Int = BlockStore.eventsPerBlock) async throws -> Int {
        let store = blockStore(eventsPerBlock: eventsPerBlock)
        while try await store.plan() {}
        while try await store.buildNext() {}
        return try await count("analytics.blocks WHERE is_built")
    }

    /// Number of events in blocks, according to the blocks.
    func eventsInBlocks() async throws -> Int { try await count("analytics.block_names, generate_series(1, events)") }

    func span(_ from: String, _ to: String, _ interval: Span.Interval = .none, timeZone: String = "UTC") async throws
        -> Span
    {
        try await service.questions.store.span(
            Span.Request(from: from, to: to, interval: interval, timeZone: timeZone), in: space)
    }

    /// The answers from blocks and from events.
    func both(_ question: CountQuestion, in span: Span) async throws -> (blocks: [CountRow]?, events: [CountRow]) {
        let store = service.questions.store
        return (try await store.blockCounts(question, in: span), try await store.eventCounts(question, in: span))
    }

    func both(_ question: FunnelQuestion, in span: Span) async throws -> (blocks: [Int]?, events: [Int]) {
        let store = service.questions.store
        let names = try await store.numbers(of: question.steps, .name, in: span.space)
        return (
            try await store.blockFunnel(names, question, in: span),
            try await store.eventFunnel(names, question, in: span)
        )
    }

    /// Links a person to an account.
    func link(_ person: Int, to account: Int) async throws {
        try await postgres.execute(
            "INSERT INTO analytics.people (space, person, account) VALUES (\(try await space.id), \(person), \(account))"
        )
    }
}

/// Fixed, so that the days of a test stay the same if midnight passes while it runs.
private let start = Date()

/// A time some seconds before the tests began, with microseconds.
func ago(_ seconds: Int, microseconds: Int = 0) -> String {
    let fraction = String(String(1_000_000 + microseconds).dropFirst())
    return String(
        Date(timeIntervalSince1970: (start.timeIntervalSince1970 - Double(seconds)).rounded(.down)).ISO8601Format()
            .dropLast()) + "." + fraction + "Z"
}

/// A UTC day some days before the tests began.
func day(_ daysAgo: Int) -> String { String(ago(daysAgo * 86_400).prefix(10)) }
