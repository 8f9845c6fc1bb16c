public import Foundation
public import MartletPostgres

/// A job as it stands in the table.
public struct Job: Sendable {
    public enum State: String, Codable, Sendable {
        case waiting, running, done, failed, cancelled

        public var isFinished: Bool { self != .waiting && self != .running }
    }

    public let id: UUID
    public let kind: String
    public let scope: String
    public let state: State
    /// Whether cancellation was asked for; a running job takes notice a little later.
    public let isCancelRequested: Bool
    /// How often it was begun.
    public let attempt: Int
    public let progress: JobProgress
    public let parameters: PostgresJSON
    /// Of a job that is done, or the report of one that failed.
    public let result: PostgresJSON?
    /// Of the last attempt, for the owner.
    public let failure: JobFailure?
    public let created: Date
    /// When it was first begun.
    public let started: Date?
    public let finished: Date?

    static let columns: PostgresQuery = """
        id, kind, scope, state, cancel_requested, attempt, done, total, message, parameters, result, error_code, error_detail, \
        created, started, finished
        """

    init(_ row: PostgresRow) throws {
        id = try row.decode(0)
        kind = try row.decode(1)
        scope = try row.decode(2)
        let state = State(rawValue: try row.decode(3)) ?? .failed
        self.state = state
        isCancelRequested = try row.decode(4)
        attempt = try row.decode(5)
        progress = JobProgress(done: try row.decode(6), total: try row.decode(7), message: try row.decode(8))
        parameters = try row.decode(9)
        result = try row.decode(10)
        let code: String? = try row.decode(11)
        let detail: String? = try row.decode(12)
        failure = code.map { JobFailure(code: $0, detail: detail ?? "", isFinal: state == .failed) }
        created = try row.decode(13)
        started = try row.decode(14)
        finished = try row.decode(15)
    }
}

/// How far a job is, in units of its own.
public struct JobProgress: Sendable, Equatable {
    public var done: Int
    /// Nil: not known.
    public var total: Int?
    /// What it is at.
    public var message: String?

    public init(done: Int, total: Int? = nil, message: String? = nil) {
        self.done = done
        self.total = total
        self.message = message
    }
}

/// How a job is to be run, beside what it is to do.
public struct JobOptions: Sendable {
    /// Whose job it is: status and cancellation are asked for within one scope.
    public var scope: String
    /// Of the jobs of one lane, one runs at a time. Keep the number of waiting jobs of a lane small: each claim looks
    /// past them.
    public var lane: String?
    /// Of the jobs of one kind and key, one waits or runs at a time; a further one is not stored.
    public var uniqueKey: String?
    /// Higher ones first.
    public var priority: Int16
    /// Not before this long from now.
    public var delay: Duration

    public init(
        scope: String = "", lane: String? = nil, uniqueKey: String? = nil, priority: Int16 = 0, delay: Duration = .zero
    ) {
        self.scope = scope
        self.lane = lane
        self.uniqueKey = uniqueKey
        self.priority = priority
        self.delay = delay
    }
}
