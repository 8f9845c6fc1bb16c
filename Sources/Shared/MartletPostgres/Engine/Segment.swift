/// The messages between two syncs. PostgreSQL executes all of them, or stops at the first failure and rolls back.
struct Segment {
    enum Step {
        case switchRole
        case prepare(PreparedStatement)
        case begin
        /// A setting for the transaction.
        case setting
        /// The request's statement, always the last step.
        case statement
    }

    let number: Int
    let request: Request
    var steps: [Step]
    /// The prepared statement that the segment executes.
    var statement: PreparedStatement?
    /// The role that the segment switches the session to, if any.
    var switchedRole: PostgresIdentifier??
}

/// The results received so far for the segment at the head of a pipeline.
struct SegmentProgress {
    private(set) var finishedSteps = 0
    private(set) var failure: PostgresError?
    private(set) var rows: PostgresResult?
    /// Detects two consecutive ends of results. libpq should never return them, and they would cause an endless loop.
    private var sawEnd = false

    /// Records a successful result, and keeps it if it belongs to the last step.
    mutating func receive(_ result: PostgresResult, stepCount: Int) {
        sawEnd = false
        if failure == nil && finishedSteps == stepCount - 1 { rows = result }
    }

    mutating func receiveFailure(_ error: PostgresError) {
        sawEnd = false
        if failure == nil { failure = error }
    }

    /// Records a step that was skipped after an earlier failure.
    mutating func receiveSkipped() {
        sawEnd = false
    }

    /// Records the end of a step's results. False if it was unexpected.
    mutating func receiveEnd() -> Bool {
        if failure == nil { finishedSteps += 1 }
        defer { sawEnd = true }
        return !sawEnd
    }
}
