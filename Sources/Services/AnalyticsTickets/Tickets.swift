import Logging
import MartletFiles
import MartletPostgres
import ServiceLifecycle

/// Tickets, sprints, the board, and feedback from end users.
struct Tickets: Sendable {
    let spaces: Spaces
    let access: TicketAccess
    let store: TicketStore
    let attachments: AttachmentStore
    let sprints: SprintStore
    let labels: LabelStore
    let feedback: FeedbackIntake
    let streams: TicketStreams
    let housekeeping: TicketHousekeeping

    /// - Parameter resolveIssues: Called for a ticket that is completed together with its crash issues.
    init(
        postgres: PostgresClient, spaces: Spaces, files: any FileBackend, staff: StaffDirectory = .empty,
        logger: Logger, feedbackLimits: FeedbackIntake.Limits = .init(),
        streamLimits: TicketStreams.Limits = .init(), resolveIssues: @escaping ResolveIssues
    ) {
        self.spaces = spaces
        access = TicketAccess(
            spaces: spaces, people: TicketPeople(postgres: postgres), directory: staff,
            names: AssigneeNames(directory: staff))
        store = TicketStore(postgres: postgres, resolveIssues: resolveIssues)
        attachments = AttachmentStore(tickets: store, files: files)
        sprints = SprintStore(tickets: store)
        labels = LabelStore(tickets: store)
        feedback = FeedbackIntake(attachments: attachments, limits: feedbackLimits)
        streams = TicketStreams(tickets: store, limits: streamLimits)
        housekeeping = TicketHousekeeping(attachments: attachments, logger: logger)
    }

    var background: [any Service] { [streams, housekeeping] }

    /// Feedback from end users.
    var userData: TicketUserData { TicketUserData(attachments: attachments, spaces: spaces) }
}
