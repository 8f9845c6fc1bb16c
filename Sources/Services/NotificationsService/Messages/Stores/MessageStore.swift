import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletJobs
import MartletPostgres

/// Creates, reads, pauses and cancels messages. `MessagePlanner` determines the recipients.
struct MessageStore: Sendable {
    /// The channel that notifies the sender of new work.
    static let channel = "notifications_deliveries"
    static let maximumDelayInSeconds = 366.0 * 86_400
    private static let defaultLifetimeInSeconds = 28 * 86_400

    let postgres: PostgresClient
    let queue: JobQueue
    let now: @Sendable () -> Date

    var planner: MessagePlanner { MessagePlanner(now: now) }

    /// Orders a message: it is sent if, and only if, the transaction commits.
    ///
    /// An audience that names few recipients is planned at once, others by a job. Of several orders with one origin,
    /// only the first has an effect.
    ///
    /// - Throws: `ServiceError`: `invalid-body` for content that no device could get, `invalid-filter`,
    ///   `segment-not-found`, `idempotency-key-reused`.
    func create(_ order: MessageOrder, in space: Space, _ transaction: PostgresTransaction) async throws -> Message {
        try await createOrFind(order, in: space, transaction).message
    }

    /// As `create(_:in:_:)`, and also returns whether the message is new.
    func createOrFind(_ order: MessageOrder, in space: Space, _ transaction: PostgresTransaction) async throws -> (
        message: Message, isNew: Bool
    ) {
        try order.audience.check()
        try order.content.check(for: order.audience.services)
        let segment = try await segment(of: order.audience, in: space, transaction)
        let times = try times(of: order)
        let row = try await transaction.query(
            """
            INSERT INTO notifications.messages AS m (
                id, space, author, template, content, audience, segment, users, timing, state, due, expires, origin, origin_digest)
            VALUES (
                \(UUID(uuidString: UUIDv7.make())), \(space.id), \(order.author.text), \(order.template), \(order.content.json.text)::json,
                \(order.audience.json.text)::json, \(segment?.json.text)::json, \(Audience.namedUsers([order.audience, segment].compactMap(\.self))), \(order.timing.json.text)::json,
                \(times.state.rawValue), \(times.due), \(times.expires), \(order.origin),
                \(order.originDigest))
            ON CONFLICT (space, origin) WHERE origin IS NOT NULL DO NOTHING
            RETURNING \(Message.columns)
            """
        ).first
        guard let message = try row.map({ try Message($0) }) else {
            return (try await earlier(order, in: space, transaction), false)
        }
        return (try await plan(message, order, transaction), true)
    }

    private func plan(_ message: Message, _ order: MessageOrder, _ transaction: PostgresTransaction) async throws
        -> Message
    {
        if order.audience.isDirect, message.state == .planning, try await planner.planPage(of: message, transaction) {
            return try await find(message.id, in: message.space, transaction) ?? message
        }
        let delay = max(0, message.due.timeIntervalSince(now()))
        _ = try await queue.enqueue(
            PlanMessage.self, .init(message: message.id), JobOptions(scope: "\(message.space)", delay: .seconds(delay)),
            in: transaction)
        return message
    }

    private func earlier(_ order: MessageOrder, in space: Space, _ transaction: PostgresTransaction) async throws
        -> Message
    {
        let rows = try await transaction.query(
            "SELECT \(Message.columns), m.origin_digest FROM notifications.messages AS m WHERE m.space = \(space.id) AND m.origin = \(order.origin)"
        )
        guard let row = rows.first else {
            throw ServiceError(.conflict, "A message with the same origin is being created. Try again.")
        }
        let digest = try row.decode(Message.columnCount, as: [UInt8]?.self)
        if let expected = order.originDigest, expected != digest { throw ServiceError(.idempotencyKeyReused) }
        return try Message(row)
    }

    private func segment(of audience: Audience, in space: Space, _ transaction: PostgresTransaction) async throws
        -> Audience?
    {
        guard let name = audience.segment else { return nil }
        let rows = try await transaction.query(
            "SELECT audience FROM notifications.segments WHERE space = \(space.id) AND name = \(name)")
        guard let row = rows.first else {
            throw ServiceError(.segmentNotFound, "There is no segment \(name).", field: "audience.segment")
        }
        return try Audience(try row.json(0))
    }

    private func times(of order: MessageOrder) throws -> (state: Message.State, due: Date, expires: Date) {
        let now = now()
        let due = max(order.due ?? order.timing.localTime?.earliest ?? now, now)
        guard due.timeIntervalSince(now) <= Self.maximumDelayInSeconds else {
            throw ServiceError(.invalidBody, "A message must be due within a year.", field: "due")
        }
        let last = max(due, order.timing.localTime?.latest ?? due)
        guard last.timeIntervalSince(now) <= Self.maximumDelayInSeconds else {
            throw ServiceError(.invalidBody, "A message must be due within a year.", field: "localTime")
        }
        let lifetime = Double(max(order.content.timeToLiveInSeconds ?? Self.defaultLifetimeInSeconds, 60))
        let expires = order.expires ?? last.addingTimeInterval(lifetime)
        guard expires > due else {
            throw ServiceError(.invalidBody, "A message must expire after it is due.", field: "expires")
        }
        // Compares with our own clock: PostgreSQL's now() is the start of the transaction, which may precede the order.
        return (
            due > now ? .scheduled : .planning, due,
            min(expires, last.addingTimeInterval(Double(Self.defaultLifetimeInSeconds)))
        )
    }
}

extension Audience {
    /// All users that the audience includes or excludes by name.
    var namedUsers: [String] { Self.namedUsers([self]) }

    static func namedUsers(_ audiences: [Audience]) -> [String] {
        Set(audiences.flatMap { ($0.users ?? []) + $0.exceptUsers }).sorted()
    }
}
