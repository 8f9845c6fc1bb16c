package import MartletHTTP
import MartletPostgres

extension Tickets {
    /// Tickets, sprints, the board, and feedback, which becomes tickets.
    package func addRoutes(to routes: inout RouteTable) {
        routes.section = .tickets
        routes.on(PostFeedback.route, PostFeedback(feedback: feedback, spaces: spaces))

        routes.on(ListTickets.route, ListTickets(access: access, tickets: store))
        routes.on(CreateTicket.route, CreateTicket(access: access, tickets: store))
        routes.on(ChangeTickets.route, ChangeTickets(access: access, tickets: store))
        routes.on(ReadBoard.route, ReadBoard(access: access, tickets: store))
        routes.on(FollowTickets.route, FollowTickets(access: access, streams: streams))
        routes.on(ExportTickets.route, ExportTickets(access: access, tickets: store))
        routes.on(ListTicketPeople.route, ListTicketPeople(access: access))
        routes.on(TicketSettings.route, TicketSettings(access: access, tickets: store, isChange: false))
        routes.on(TicketSettings.changeTicketSettings, TicketSettings(access: access, tickets: store, isChange: true))

        routes.on(ListLabels.route, ListLabels(access: access, labels: labels))
        routes.on(CreateLabel.route, CreateLabel(access: access, labels: labels))
        routes.on(ChangeLabel.route, ChangeLabel(access: access, labels: labels))
        routes.on(DeleteLabel.route, DeleteLabel(access: access, labels: labels))

        routes.on(ListSprints.route, ListSprints(access: access, sprints: sprints))
        routes.on(CreateSprint.route, CreateSprint(access: access, sprints: sprints))
        routes.on(ReadSprint.route, ReadSprint(access: access, sprints: sprints))
        routes.on(ChangeSprint.route, ChangeSprint(access: access, sprints: sprints))
        routes.on(DeleteSprint.route, DeleteSprint(access: access, sprints: sprints))
        routes.on(ReportSprint.route, ReportSprint(access: access, sprints: sprints))
        routes.on(StartSprint.route, StartSprint(access: access, sprints: sprints))
        routes.on(CloseSprint.route, CloseSprint(access: access, sprints: sprints))

        routes.on(ReadTicket.route, ReadTicket(access: access, tickets: store))
        routes.on(ChangeTicket.route, ChangeTicket(access: access, tickets: store))
        routes.on(DeleteTicket.route, DeleteTicket(access: access, tickets: store))
        routes.on(MoveTicket.route, MoveTicket(access: access, tickets: store))
        routes.on(RestoreTicket.route, RestoreTicket(access: access, tickets: store))
        routes.on(ListTicketEntries.route, ListTicketEntries(access: access, tickets: store, content: .history))
        routes.on(ListTicketEntries.listComments, ListTicketEntries(access: access, tickets: store, content: .comments))
        routes.on(AddComment.route, AddComment(access: access, tickets: store))
        routes.on(EditComment.route, EditComment(access: access, tickets: store))
        routes.on(DeleteComment.route, DeleteComment(access: access, tickets: store))
        routes.on(AddAttachment.route, AddAttachment(access: access, attachments: attachments))
        routes.on(ReadAttachment.route, ReadAttachment(access: access, attachments: attachments))
        routes.on(DeleteAttachment.route, DeleteAttachment(access: access, attachments: attachments))
        routes.on(AttachIssues.route, AttachIssues(access: access, tickets: store))
        routes.on(DetachIssue.route, DetachIssue(access: access, tickets: store))
        routes.on(AddLink.route, AddLink(access: access, tickets: store))
        routes.on(DeleteLink.route, DeleteLink(access: access, tickets: store))
    }
}
