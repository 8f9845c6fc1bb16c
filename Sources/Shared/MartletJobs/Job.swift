public import Foundation
public import MartletPostgres

/// A row of the table `jobs`.
public struct Job: Sendable {
    public enum State: String, Codable, Sendable {
        case waiting, running, done, failed, cancelled

        public var isFinished: Bool { self != .waiting && self != .running }
    }

    public let id: UUID
    public let kind: String
    public let scope: String
    public let state: State
    /// Whether cancellation was requested. A running job notices a little later.
    public let isCancelRequested: Bool
    /// The number of attempts so far, including the current one.
    public let attempt: Int
    public let progress: JobProgress
    public let parameters: PostgresJSON
    /// The result of a finished job, or the report of a failed one.
    public let result: PostgresJSON?
    /// Why the last attempt failed, in words for the owner.
    public let failure: JobFailure?
    public let created: Date
    /// When the first attempt began.
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

/// The progress of a job, in units that the job chooses.
public struct JobProgress: Sendable, Equatable {
    public var done: Int
    /// Nil if unknown.
    public var total: Int?
    /// The current step.
    public var message: String?

    public init(done: Int, total: Int? = nil, message: String? = nil) {
        self.done = done
        self.total = total
        self.message = message
    }
}

/// Options for scheduling a job.
public struct JobOptions: Sendable {
    /// The owner of the job. Status and cancellation are always looked up within one scope.
    public var scope: String
    /// Jobs in the same lane run one at a time. Keep the number of waiting jobs per lane small, because each claim
    /// scans them.
    public var lane: String?
    /// At most one unfinished job may exist per kind and key; enqueuing another one stores nothing.
    public var uniqueKey: String?
    /// Jobs with a higher priority run first.
    public var priority: Int16
    /// The earliest start, counted from now.
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
