import MartletHTTP

extension Schema {
    static let ticketChange: Schema = component(
        "TicketChange",
        .object(
            [
                "title": .string.maxLength(200),
                "description": .string.maxLength(50_000),
                "type": .oneOf("bug", "feature", "improvement", "task", "feedback"),
                "status": .oneOf("todo", "inProgress", "onHold", "complete"),
                "priority": .oneOf("low", "medium", "high", "urgent"),
                "assignee": .string.nullable.described(
                    """
                    The id of a staff member, or `me`. The member must exist, be enabled and be allowed to read the \
                    app's tickets. The call fails with 503 if the auth service is unavailable.
                    """),
                "appVersion": .string.maxLength(64).nullable,
                "sprint": .integer.nullable,
                "estimate": .integer.range(0, 1_000).nullable.described(
                    "The estimated effort, in the unit that the team uses."),
                "labels": .array(of: .string).maxItems(20).described("All labels of the ticket; others are removed."),
            ]))

    static let ticket: Schema = component(
        "Ticket",
        .all(
            .ticketChange,
            .object(
                [
                    "number": .integer,
                    "key": .string.described("The prefix of the app's tickets and the number, such as `APP-12`."),
                    "revision": .integer,
                    "generation": .integer.described("The generation of the app's tickets when this one last changed."),
                    "position": .string.described(
                        "The ticket's place among those of its status. Positions compare byte by byte."),
                    "createdBy": .string.described("`staff:<id>`, `key:<id>`, or `client` for feedback."),
                    "created": .time,
                    "updated": .time,
                    "completed": .time.nullable,
                    "deleted": .time.nullable.described(
                        "When the ticket was moved to the bin; null if it is not there."),
                    "assigneeName": .string.nullable,
                    "isAssigneeGone": .boolean.nullable.described(
                        """
                        Whether the assignee is deleted, disabled or no longer allowed to read tickets; null if the \
                        auth service is unavailable.
                        """),
                    "isBlocked": .boolean,
                    "commentCount": .integer,
                    "attachmentCount": .integer,
                    "issueCount": .integer,
                    "feedback": .object(
                        [
                            "message": .string,
                            "name": .string,
                            "email": .string,
                            "user": .string.nullable,
                            "eventId": .string.nullable,
                        ]).nullable,
                    "attachments": .array(of: .object),
                    "issues": .array(of: .object),
                    "links": .array(of: .object),
                ]).described("Lists omit `description`, `feedback`, `attachments`, `issues` and `links`.")))

    static let ticketComment: Schema = component(
        "TicketComment",
        .object(
            [
                "number": .integer,
                "text": .string,
                "by": .string,
                "created": .time,
                "edited": .time.nullable,
            ]))

    static let sprint: Schema = component(
        "Sprint",
        .object(
            [
                "number": .integer,
                "name": .string,
                "goal": .string,
                "starts": .day.nullable,
                "ends": .day.nullable,
                "state": .oneOf("planned", "active", "closed"),
                "started": .time.nullable,
                "closed": .time.nullable,
                "revision": .integer,
                "created": .time,
                "createdBy": .string,
                "counts": .map(of: .integer).described("The number of tickets by status."),
                "estimates": .object(
                    [
                        "all": .integer,
                        "complete": .integer,
                    ]).described("The sums of the tickets' estimates."),
            ]))

    static let sprintSum: Schema = component(
        "SprintSum",
        .object(
            [
                "tickets": .integer,
                "estimate": .integer,
            ]))

    static let sprintStanding: Schema = component(
        "SprintStanding",
        .object(
            [
                "scope": .sprintSum,
                "complete": .sprintSum,
            ]))

    static let sprintReport: Schema = component(
        "SprintReport",
        .object(
            [
                "start": .sprintStanding,
                "end": .sprintStanding,
                "added": .sprintSum,
                "removed": .sprintSum,
                "days": .array(
                    of: .all(
                        .object(
                            [
                                "day": .day
                            ]),
                        .sprintStanding)
                ).maxItems(100),
            ]))
}
