/// The status of a ticket.
enum TicketStatus: String, CaseIterable, Sendable {
    // In the order of the board's columns.
    case todo, inProgress, onHold, complete

    /// The heading of the board's column.
    var title: String {
        switch self {
        case .todo: "To do"
        case .inProgress: "In progress"
        case .onHold: "On hold"
        case .complete: "Complete"
        }
    }
}

enum TicketType: String, CaseIterable, Sendable {
    case bug, feature, improvement, task, feedback
}

enum TicketPriority: String, CaseIterable, Sendable {
    // In ascending order.
    case low, medium, high, urgent
}

/// The relation of one ticket to another, as seen from the first.
enum TicketLinkKind: String, CaseIterable, Sendable {
    case blocks, blockedBy, duplicates, duplicatedBy, relates

    /// The kind as stored, and whether the ticket it is seen from is the source.
    var stored: (kind: String, isSource: Bool) {
        switch self {
        case .blocks: ("blocks", true)
        case .blockedBy: ("blocks", false)
        case .duplicates: ("duplicates", true)
        case .duplicatedBy: ("duplicates", false)
        case .relates: ("relates", true)
        }
    }
}

/// An event in a ticket's history.
enum TicketActivity: String, Sendable {
    case created, changed, deleted, restored
    case commented, commentEdited, commentDeleted
    case attached, detached
    case issueAttached, issueDetached, issuesResolved
    case linked, unlinked
    /// A commit message said that the commit fixes the ticket. The raw value is stored and part of the API, so it keeps
    /// its old name.
    case fixedByCommit = "mendedByCommit"
}

/// The limits of tickets and what belongs to them. Lengths are in characters (Unicode scalars).
enum TicketLimits {
    static let tickets = 100_000
    /// Feedback creates no more tickets once there are this many. The rest is reserved for the team.
    static let ticketsForFeedback = 90_000
    static let titleLength = 200
    static let descriptionLength = 50_000
    static let labels = 200
    static let labelsOfTicket = 20
    static let sprints = 1_000
    static let commentsOfTicket = 1_000
    static let commentLength = 20_000
    static let attachmentsOfTicket = 50
    static let attachmentInBytes = 20 << 20
    /// Total for all tickets of a space.
    static let attachmentsInBytes = 10 << 30
    /// With more than this in total, pictures of feedback are dropped.
    static let attachmentsOfFeedbackInBytes = 5 << 30
    /// The largest estimate.
    static let estimate = 1_000
    /// Maximum number of tickets in one bulk change.
    static let ticketsPerCall = 100
    /// Also the maximum number of crash issues in one call.
    static let issuesOfTicket = 100
    static let linksOfTicket = 50
    static let searchLength = 200
    /// Days after which a deleted ticket is removed for good.
    static let daysInBin = 30
}
