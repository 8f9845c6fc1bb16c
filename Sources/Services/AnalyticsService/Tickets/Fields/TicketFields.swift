/// What can be said of a ticket in one word.
enum TicketStatus: String, CaseIterable, Sendable {
    // In the order of the board's columns.
    case todo, inProgress, onHold, complete

    /// As people read it.
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
    // In their order.
    case low, medium, high, urgent
}

/// How two tickets hang together, said from one of them.
enum TicketLinkKind: String, CaseIterable, Sendable {
    case blocks, blockedBy, duplicates, duplicatedBy, relates

    /// The kind that is stored, and whether the one it is said from is its source.
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

/// What happened to a ticket, in its history.
enum TicketAct: String, Sendable {
    case created, changed, deleted, restored
    case commented, commentEdited, commentDeleted
    case attached, detached
    case issueAttached, issueDetached, issuesResolved
    case linked, unlinked
    /// A commit said that it mends it.
    case mendedByCommit
}

/// The most of everything.
enum TicketLimits {
    static let tickets = 100_000
    /// What people say leaves some to the team.
    static let ticketsForFeedback = 90_000
    static let title = 200
    static let description = 50_000
    static let labels = 200
    static let labelsOfTicket = 20
    static let sprints = 1_000
    static let comments = 1_000
    static let comment = 20_000
    static let attachments = 50
    static let attachmentInBytes = 20 << 20
    /// Of all tickets of a space together.
    static let attachmentsInBytes = 10 << 30
    /// Beyond, feedback comes without pictures.
    static let attachmentsOfFeedbackInBytes = 5 << 30
    static let estimate = 1_000
    /// Of one change of several.
    static let ticketsPerCall = 100
    static let issues = 100
    static let links = 50
    static let search = 200
    /// How long a ticket stays in the bin.
    static let daysInBin = 30
}
