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
                    The id of a staff member who is there, not disabled and may read tickets of the app, or `me`. 503 \
                    while auth cannot say.
                    """),
                "appVersion": .string.maxLength(64).nullable,
                "sprint": .integer.nullable,
                "estimate": .integer.range(0, 1_000).nullable.described("Of the work, in whatever the team counts."),
                "labels": .array(of: .string).maxItems(20).described("All that it shall have."),
            ]))

    static let ticket: Schema = component(
        "Ticket",
        .all(
            .ticketChange,
            .object(
                [
                    "number": .integer,
                    "key": .string.described("`APP-12`."),
                    "revision": .integer,
                    "generation": .integer.described("Of the space's, at the last change of anything about it."),
                    "position": .string.described("Compares byte by byte among the tickets of its status."),
                    "createdBy": .string.described("`staff:<id>`, `key:<id>`, or `client` for feedback."),
                    "created": .time,
                    "updated": .time,
                    "completed": .time.nullable,
                    "deleted": .time.nullable.described("Since when it is in the bin."),
                    "assigneeName": .string.nullable,
                    "isAssigneeGone": .boolean.nullable.described(
                        "Deleted, disabled, or without the right to read tickets; null while auth cannot say."),
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
                ]).described("Lists have all but `description`, `feedback`, `attachments`, `issues` and `links`.")))

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
                "counts": .map(of: .integer).described("Tickets by status."),
                "estimates": .object(
                    [
                        "all": .integer,
                        "complete": .integer,
                    ]).described("Of the tickets together."),
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
