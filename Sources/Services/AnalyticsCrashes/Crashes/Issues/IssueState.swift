import MartletPostgres

/// The state of an issue.
enum IssueState: String, Sendable, CaseIterable {
    case unresolved
    /// Suppresses alerts until its time or threshold is reached.
    case ignored
    case resolved
    /// Unresolved again, after it had been resolved.
    case regressed

    /// The state of the row `i`, as SQL.
    static let expression: PostgresQuery =
        "CASE WHEN i.status = 'unresolved' AND i.regressed IS NOT NULL THEN 'regressed' ELSE i.status END"
}

/// The kind of an issue's reports.
enum IssueKind: String, Sendable, CaseIterable {
    /// The app crashed.
    case crash
    case error, message
    /// The reports could not be parsed.
    case broken
}
