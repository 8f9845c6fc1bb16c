/// What was sent between two syncs: PostgreSQL executes it as a whole or, after the first failure, not at all.
struct Segment {
    enum Step {
        case switchRole
        case prepare(PreparedStatement)
        case begin
        /// A setting of the transaction.
        case setting
        /// The request's own statement; always the last.
        case statement
    }

    let number: Int
    let request: Request
    var steps: [Step]
    /// The prepared statement it executes.
    var statement: PreparedStatement?
    /// The role it switches the session to, if it does.
    var switchedRole: PostgresIdentifier??
}

/// The results of the segment at the head of a pipeline, as they come in.
struct SegmentProgress {
    private(set) var finishedSteps = 0
    private(set) var failure: PostgresError?
    private(set) var rows: PostgresResult?
    /// Two ends of results in a row do not occur in libpq's protocol; they would mean an endless loop.
    private var sawEnd = false

    /// A result that is not an error; kept when it is that of the last step.
    mutating func receive(_ result: PostgresResult, stepCount: Int) {
        sawEnd = false
        if failure == nil && finishedSteps == stepCount - 1 { rows = result }
    }

    mutating func receiveFailure(_ error: PostgresError) {
        sawEnd = false
        if failure == nil { failure = error }
    }

    /// A step that was skipped because one before it failed.
    mutating func receiveSkipped() {
        sawEnd = false
    }

    /// False when out of turn.
    mutating func receiveEnd() -> Bool {
        if failure == nil { finishedSteps += 1 }
        defer { sawEnd = true }
        return !sawEnd
    }
}
