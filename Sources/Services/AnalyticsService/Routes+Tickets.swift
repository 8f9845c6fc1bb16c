import Hummingbird
import MartletHTTP
import MartletPostgres

extension AnalyticsService {
    /// Tickets, sprints and the board; and feedback, which becomes tickets.
    func addTicketsRoutes(to router: Router<ServiceContext>) {
        let (desk, store) = (tickets.desk, tickets.store)
        router.on(.post, "feedback", PostFeedback(feedback: tickets.feedback, spaces: spaces))

        router.on(.get, "tickets", ListTickets(desk: desk, tickets: store))
        router.on(.post, "tickets", CreateTicket(desk: desk, tickets: store))
        router.on(.post, "tickets/update", ChangeTickets(desk: desk, tickets: store))
        router.on(.get, "tickets/board", ReadBoard(desk: desk, tickets: store))
        router.on(.get, "tickets/events", FollowTickets(desk: desk, streams: tickets.streams))
        router.on(.get, "tickets/export", ExportTickets(desk: desk, tickets: store))
        router.on(.get, "tickets/people", ListTicketPeople(desk: desk))
        router.on(.get, "tickets/settings", TicketSettings(desk: desk, tickets: store, isChange: false))
        router.on(.patch, "tickets/settings", TicketSettings(desk: desk, tickets: store, isChange: true))

        router.on(.get, "tickets/labels", ListLabels(desk: desk, labels: tickets.labels))
        router.on(.post, "tickets/labels", CreateLabel(desk: desk, labels: tickets.labels))
        router.on(.patch, "tickets/labels/:label", ChangeLabel(desk: desk, labels: tickets.labels))
        router.on(.delete, "tickets/labels/:label", DeleteLabel(desk: desk, labels: tickets.labels))

        router.on(.get, "tickets/sprints", ListSprints(desk: desk, sprints: tickets.sprints))
        router.on(.post, "tickets/sprints", CreateSprint(desk: desk, sprints: tickets.sprints))
        router.on(.get, "tickets/sprints/:sprint", ReadSprint(desk: desk, sprints: tickets.sprints))
        router.on(.patch, "tickets/sprints/:sprint", ChangeSprint(desk: desk, sprints: tickets.sprints))
        router.on(.delete, "tickets/sprints/:sprint", DeleteSprint(desk: desk, sprints: tickets.sprints))
        router.on(.get, "tickets/sprints/:sprint/report", ReportSprint(desk: desk, sprints: tickets.sprints))
        router.on(.post, "tickets/sprints/:sprint/start", StartSprint(desk: desk, sprints: tickets.sprints))
        router.on(.post, "tickets/sprints/:sprint/close", CloseSprint(desk: desk, sprints: tickets.sprints))

        router.on(.get, "tickets/:ticket", ReadTicket(desk: desk, tickets: store))
        router.on(.patch, "tickets/:ticket", ChangeTicket(desk: desk, tickets: store))
        router.on(.delete, "tickets/:ticket", DeleteTicket(desk: desk, tickets: store))
        router.on(.post, "tickets/:ticket/move", MoveTicket(desk: desk, tickets: store))
        router.on(.post, "tickets/:ticket/restore", RestoreTicket(desk: desk, tickets: store))
        router.on(.get, "tickets/:ticket/history", ListOfTicket(desk: desk, tickets: store, what: .history))
        router.on(.get, "tickets/:ticket/comments", ListOfTicket(desk: desk, tickets: store, what: .comments))
        router.on(.post, "tickets/:ticket/comments", AddComment(desk: desk, tickets: store))
        router.on(.patch, "tickets/:ticket/comments/:comment", EditComment(desk: desk, tickets: store))
        router.on(.delete, "tickets/:ticket/comments/:comment", DeleteComment(desk: desk, tickets: store))
        router.on(.post, "tickets/:ticket/attachments", AddAttachment(desk: desk, attachments: tickets.attachments))
        router.on(.get, "tickets/:ticket/attachments/:attachment", ReadAttachment(desk: desk, attachments: tickets.attachments))
        router.on(.delete, "tickets/:ticket/attachments/:attachment", DeleteAttachment(desk: desk, attachments: tickets.attachments))
        router.on(.post, "tickets/:ticket/issues", AttachIssues(desk: desk, tickets: store))
        router.on(.delete, "tickets/:ticket/issues/:issue", DetachIssue(desk: desk, tickets: store))
        router.on(.post, "tickets/:ticket/links", AddLink(desk: desk, tickets: store))
        router.on(.delete, "tickets/:ticket/links/:kind/:other", DeleteLink(desk: desk, tickets: store))
    }
}
