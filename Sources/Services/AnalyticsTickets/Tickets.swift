package import AnalyticsShared
package import Foundation
package import Logging
package import MartletFiles
package import MartletHTTP
package import MartletPostgres
package import ServiceLifecycle

/// Tickets, sprints, the board, and feedback from end users.
package struct Tickets: Sendable {
    let spaces: Spaces
    let access: TicketAccess
    package let store: TicketStore
    let attachments: AttachmentStore
    let sprints: SprintStore
    let labels: LabelStore
    package let feedback: FeedbackIntake
    let streams: TicketStreams
    let housekeeping: TicketHousekeeping

    /// - Parameters:
    ///   - lockReports: Until a transaction ends, no other transaction can store crash reports of the spaces.
    ///   - resolveIssues: Called for a ticket that is completed together with its crash issues.
    package init(
        postgres: PostgresClient, spaces: Spaces, files: any FileBackend, staff: StaffDirectory = .empty,
        logger: Logger, feedbackLimits: FeedbackIntake.Limits = .init(), now: @escaping @Sendable () -> Date,
        lockReports: @escaping LockReports, resolveIssues: @escaping ResolveIssues
    ) {
        self.spaces = spaces
        access = TicketAccess(
            spaces: spaces, people: TicketPeople(postgres: postgres), directory: staff,
            names: AssigneeNames(directory: staff))
        store = TicketStore(postgres: postgres, lockReports: lockReports, resolveIssues: resolveIssues)
        attachments = AttachmentStore(tickets: store, files: files)
        sprints = SprintStore(tickets: store, now: now)
        labels = LabelStore(tickets: store)
        feedback = FeedbackIntake(attachments: attachments, limits: feedbackLimits, now: now)
        streams = TicketStreams(tickets: store, limits: .init())
        housekeeping = TicketHousekeeping(attachments: attachments, logger: logger, now: now)
    }

    package var background: [any Service] { [streams, housekeeping] }

    /// Feedback from end users.
    package var userData: any UserDataHolder { TicketUserData(attachments: attachments, spaces: spaces) }
}
