import MartletPostgres

/// Where an issue is in its life.
enum IssueState: String, Sendable, CaseIterable {
    case unresolved
    /// Nobody is told of it, until its time is over.
    case ignored
    case resolved
    /// Unresolved again: it came back after it had been resolved.
    case regressed

    /// Of the row `i`, as SQL.
    static let expression: PostgresQuery = "CASE WHEN i.status = 'unresolved' AND i.regressed IS NOT NULL THEN 'regressed' ELSE i.status END"
}

/// What an issue's reports are.
enum IssueKind: String, Sendable, CaseIterable {
    /// They ended the app.
    case crash
    case error, message
    /// They could not be read.
    case broken
}
