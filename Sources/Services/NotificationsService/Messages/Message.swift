import Foundation
import MartletCore
import MartletHTTP
import MartletPostgres

/// A message to be sent, as requested.
struct MessageOrder: Sendable {
    var content: MessageContent
    var audience: Audience
    var timing = MessageTiming()
    /// When to send it. Nil means now or, with a local time, when that time comes in the first time zone.
    var due: Date?
    /// Deliveries not sent by then are dropped. Nil means the content's time to live after the due date, or four weeks.
    var expires: Date?
    /// Identifies repetitions: a second order with the same origin returns the first message. Stands for a change that
    /// a rule acted on, or for an `Idempotency-Key`.
    var origin: String?
    /// The digest of the request with an `Idempotency-Key`. The same key with a different digest is refused.
    var originDigest: [UInt8]?
    /// The template that the content was created from.
    var template: String?
    var author: Author
}

/// A message as it is stored.
struct Message: Sendable {
    enum State: String, Sendable, CaseIterable {
        case scheduled, planning, sending, sent, cancelled, failed

        var isFinished: Bool { [.sent, .cancelled, .failed].contains(self) }
    }

    let id: UUID
    let space: Int32
    let author: String
    let template: String?
    let content: MessageContent
    let audience: Audience
    /// The segment's audience at the time of the order.
    let segment: Audience?
    let timing: MessageTiming
    let state: State
    let isPaused: Bool
    let due: Date
    let expires: Date
    /// The last installation that planning has reached; nil before the first.
    let plannedTo: UUID?
    /// Whether planning has reached every installation of the audience.
    let isPlanned: Bool
    /// The number of deliveries planned so far.
    let planned: Int
    let problem: String?
    let created: Date
    let finished: Date?

    /// The columns of `notifications.messages AS m`.
    static let columns: PostgresQuery = """
        m.id, m.space, m.author, m.template, m.content, m.audience, m.segment, m.timing, m.state, m.is_paused AND NOT m.is_resuming, m.due, m.expires, m.planned_to,
        m.is_planned, m.planned, m.problem, m.created, m.finished
        """
    static let columnCount = 18

    init(_ row: PostgresRow, from column: Int = 0) throws {
        id = try row.decode(column)
        space = try row.decode(column + 1)
        author = try row.decode(column + 2)
        template = try row.decode(column + 3)
        content = try MessageContent(try row.json(column + 4))
        audience = try Audience(try row.json(column + 5))
        segment = try row.decode(column + 6, as: PostgresJSON?.self).map {
            try Audience(try JSONValue(parsing: $0.bytes))
        }
        timing = try MessageTiming(try row.json(column + 7))
        state = try row.word(column + 8)
        isPaused = try row.decode(column + 9)
        due = try row.decode(column + 10)
        expires = try row.decode(column + 11)
        plannedTo = try row.decode(column + 12)
        isPlanned = try row.decode(column + 13)
        planned = try row.decode(column + 14)
        problem = try row.decode(column + 15)
        created = try row.decode(column + 16)
        finished = try row.decode(column + 17)
    }

    /// The message's members in a response.
    var json: [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("id", .string(id.uuidString.lowercased())), .init("state", .string(state.rawValue)),
            .init("isPaused", .bool(isPaused)),
            .init("author", .string(author)), .init("content", content.json), .init("audience", audience.json),
            .init("timing", timing.json),
            .init("due", .string(due.rfc3339)), .init("expires", .string(expires.rfc3339)),
            .init("planned", .number("\(planned)")),
            .init("isPlanned", .bool(isPlanned)), .init("created", .string(created.rfc3339)),
        ]
        if let template { members.append(.init("template", .string(template))) }
        if let problem { members.append(.init("problem", .string(problem))) }
        if let finished { members.append(.init("finished", .string(finished.rfc3339))) }
        return members
    }
}

extension PostgresRow {
    /// Decodes a JSON column.
    func json(_ column: Int) throws -> JSONValue {
        try JSONValue(parsing: try decode(column, as: PostgresJSON.self).bytes)
    }
}
