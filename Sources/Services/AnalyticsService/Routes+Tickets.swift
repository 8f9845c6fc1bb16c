import Hummingbird
import MartletHTTP
import MartletPostgres

extension AnalyticsService {
    /// Tickets, sprints, the board, and feedback, which becomes tickets.
    func addTicketsRoutes(to router: Router<ServiceContext>) {
        let (access, store) = (tickets.access, tickets.store)
        router.on(.post, "feedback", PostFeedback(feedback: tickets.feedback, spaces: spaces))

        router.on(.get, "tickets", ListTickets(access: access, tickets: store))
        router.on(.post, "tickets", CreateTicket(access: access, tickets: store))
        router.on(.post, "tickets/update", ChangeTickets(access: access, tickets: store))
        router.on(.get, "tickets/board", ReadBoard(access: access, tickets: store))
        router.on(.get, "tickets/events", FollowTickets(access: access, streams: tickets.streams))
        router.on(.get, "tickets/export", ExportTickets(access: access, tickets: store))
        router.on(.get, "tickets/people", ListTicketPeople(access: access))
        router.on(.get, "tickets/settings", TicketSettings(access: access, tickets: store, isChange: false))
        router.on(.patch, "tickets/settings", TicketSettings(access: access, tickets: store, isChange: true))

        router.on(.get, "tickets/labels", ListLabels(access: access, labels: tickets.labels))
        router.on(.post, "tickets/labels", CreateLabel(access: access, labels: tickets.labels))
        router.on(.patch, "tickets/labels/:label", ChangeLabel(access: access, labels: tickets.labels))
        router.on(.delete, "tickets/labels/:label", DeleteLabel(access: access, labels: tickets.labels))

        router.on(.get, "tickets/sprints", ListSprints(access: access, sprints: tickets.sprints))
        router.on(.post, "tickets/sprints", CreateSprint(access: access, sprints: tickets.sprints))
        router.on(.get, "tickets/sprints/:sprint", ReadSprint(access: access, sprints: tickets.sprints))
        router.on(.patch, "tickets/sprints/:sprint", ChangeSprint(access: access, sprints: tickets.sprints))
        router.on(.delete, "tickets/sprints/:sprint", DeleteSprint(access: access, sprints: tickets.sprints))
        router.on(.get, "tickets/sprints/:sprint/report", ReportSprint(access: access, sprints: tickets.sprints))
        router.on(.post, "tickets/sprints/:sprint/start", StartSprint(access: access, sprints: tickets.sprints))
        router.on(.post, "tickets/sprints/:sprint/close", CloseSprint(access: access, sprints: tickets.sprints))

        router.on(.get, "tickets/:ticket", ReadTicket(access: access, tickets: store))
        router.on(.patch, "tickets/:ticket", ChangeTicket(access: access, tickets: store))
        router.on(.delete, "tickets/:ticket", DeleteTicket(access: access, tickets: store))
        router.on(.post, "tickets/:ticket/move", MoveTicket(access: access, tickets: store))
        router.on(.post, "tickets/:ticket/restore", RestoreTicket(access: access, tickets: store))
        router.on(.get, "tickets/:ticket/history", ListOfTicket(access: access, tickets: store, what: .history))
        router.on(.get, "tickets/:ticket/comments", ListOfTicket(access: access, tickets: store, what: .comments))
        router.on(.post, "tickets/:ticket/comments", AddComment(access: access, tickets: store))
        router.on(.patch, "tickets/:ticket/comments/:comment", EditComment(access: access, tickets: store))
        router.on(.delete, "tickets/:ticket/comments/:comment", DeleteComment(access: access, tickets: store))
        router.on(.post, "tickets/:ticket/attachments", AddAttachment(access: access, attachments: tickets.attachments))
        router.on(
            .get, "tickets/:ticket/attachments/:attachment",
            ReadAttachment(access: access, attachments: tickets.attachments))
        router.on(
            .delete, "tickets/:ticket/attachments/:attachment",
            DeleteAttachment(access: access, attachments: tickets.attachments))
        router.on(.post, "tickets/:ticket/issues", AttachIssues(access: access, tickets: store))
        router.on(.delete, "tickets/:ticket/issues/:issue", DetachIssue(access: access, tickets: store))
        router.on(.post, "tickets/:ticket/links", AddLink(access: access, tickets: store))
        router.on(.delete, "tickets/:ticket/links/:kind/:other", DeleteLink(access: access, tickets: store))
    }
}
