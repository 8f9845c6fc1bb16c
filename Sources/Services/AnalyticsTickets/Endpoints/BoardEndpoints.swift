import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// For more tickets of a column, list the tickets with the same filter, the column's `status`, `sort=position`, and its
/// `next` as `cursor`.
struct ReadBoard: Endpoint {
    static let route = Route(
        .get, "/tickets/board", "readBoard",
        "Returns the board: a column for each status, with the number of tickets and the first of them.",
        callers: .manager(.read, .tickets),
        parameters: [
            .query("status", .string, "A comma-separated list of `todo`, `inProgress`, `onHold` and `complete`."),
            .query(
                "type", .string, "A comma-separated list of `bug`, `feature`, `improvement`, `task` and `feedback`."),
            .query("priority", .string, "A comma-separated list of `low`, `medium`, `high` and `urgent`."),
            .query("assignee", .string, "A comma-separated list of staff ids, `me` and `none`."),
            .query("label", .string, "A comma-separated list of label names and `none`."),
            .query("sprint", .string, "A comma-separated list of sprint numbers, `active` and `none`."),
            .query("version", .string, "A comma-separated list of app versions."),
            .query("issue", .string, "A comma-separated list of numbers of crash issues."),
            .query("search", .string, "The beginnings of words, all of which must occur; or the number of a ticket."),
            .query(
                "createdBy", .string,
                "A comma-separated list of `staff:<id>` or the id alone, `me`, `key:<id>` and `client`."),
            .query("updatedAfter", .string, "Only tickets updated after this time (RFC 3339)."),
            .query("blocked", .string, "`true` for blocked tickets, `false` for the others."),
            .query(
                "limit", .integer.range(1, 200).defaulting(to: 100), "The maximum number of tickets in each column."),
        ],
        answers: [
            .answer(
                200, "The board.",
                .json(
                    .object(
                        [
                            "generation": .integer,
                            "columns": .array(
                                of: .object(
                                    [
                                        "status": .string,
                                        "title": .string,
                                        "count": .integer,
                                        "tickets": .array(of: .ticket),
                                        "next": .string,
                                    ])),
                        ])))
        ])

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: .read)
        let filter = try TicketFilter(request, in: caller.space, staff: caller.staff)
        let limit = try context.integer("limit")
        let generation: Int64
        var columns: [TicketStore.Column]
        (generation, columns) = try await tickets.board(filter, in: caller.space, limit: limit)
        // One call for all columns, because often the same people are assigned in several of them.
        var named = try await access.named(columns.flatMap(\.tickets), in: caller.space)[...]
        for index in columns.indices {
            let count = columns[index].tickets.count
            columns[index].tickets = Array(named.prefix(count))
            named = named.dropFirst(count)
        }
        return .json(#"{"generation":\#(generation),"columns":[\#(columns.map(\.json).joined(separator: ","))]}"#)
    }
}

extension TicketStore.Column {
    fileprivate var json: String {
        let next = next.map { ",\"next\":" + JSONValue.quote($0) } ?? ""
        return
            #"{"status":"\#(status.rawValue)","title":"\#(status.title)","count":\#(count),"tickets":[\#(tickets.joined(separator: ","))]\#(next)}"#
    }
}

/// A stream ends after a while. The client's rights are checked again when it reconnects.
struct FollowTickets: Endpoint {
    static let route = Route(
        .get, "/tickets/events", "followTickets", "Streams server-sent events that name the tickets that changed.",
        callers: .manager(.read, .tickets),
        parameters: [
            .query(
                "after", .integer,
                "Starts after this generation, such as that of a board. The header `Last-Event-ID` takes precedence.")
        ],
        answers: [
            .answer(
                200,
                """
                Events `changed` with `{"generation","tickets":[…]}`, or `{"generation","all":true}` if any \
                may have changed.
                """,
                .type("text/event-stream", .string))
        ])

    private static let lastEvent = HTTPField.Name("Last-Event-ID")!

    let access: TicketAccess
    let streams: TicketStreams

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: .read)
        let text = request.headers[Self.lastEvent] ?? request.uri.queryParameters["after"].map(String.init)
        let generation = try text.map { text in
            guard let generation = Int64(text), generation >= 0 else {
                throw ServiceError.unexpectedParameter(
                    "after", expected: "the generation of a board or an event", found: text[...])
            }
            return generation
        }
        return try await streams.response(caller.space, after: generation)
    }
}

/// Exports tickets in the order of their numbers.
///
/// An error after the first byte aborts the response, which HTTP clients notice.
struct ExportTickets: Endpoint {
    static let route = Route(
        .get, "/tickets/export", "exportTickets", "Exports tickets as CSV.", callers: .manager(.read, .tickets),
        parameters: [
            .query("status", .string, "A comma-separated list of `todo`, `inProgress`, `onHold` and `complete`."),
            .query(
                "type", .string, "A comma-separated list of `bug`, `feature`, `improvement`, `task` and `feedback`."),
            .query("priority", .string, "A comma-separated list of `low`, `medium`, `high` and `urgent`."),
            .query("assignee", .string, "A comma-separated list of staff ids, `me` and `none`."),
            .query("label", .string, "A comma-separated list of label names and `none`."),
            .query("sprint", .string, "A comma-separated list of sprint numbers, `active` and `none`."),
            .query("version", .string, "A comma-separated list of app versions."),
            .query("issue", .string, "A comma-separated list of numbers of crash issues."),
            .query("search", .string, "The beginnings of words, all of which must occur; or the number of a ticket."),
            .query(
                "createdBy", .string,
                "A comma-separated list of `staff:<id>` or the id alone, `me`, `key:<id>` and `client`."),
            .query("updatedAfter", .string, "Only tickets updated after this time (RFC 3339)."),
            .query("blocked", .string, "`true` for blocked tickets, `false` for the others."),
            .query("deleted", .boolean, "`true` for the tickets in the bin."),
        ],
        answers: [
            .answer(200, "The names of the columns, and a line for each ticket.", .type("text/csv", .string))
        ])

    /// Small, because descriptions may be long.
    private static let pageLength = 100

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: .read)
        let filter = try TicketFilter(request, in: caller.space, staff: caller.staff)
        let body = ResponseBody { [tickets] writer in
            try await writer.write(ByteBuffer(string: TicketStore.exportHeader))
            var last: Int? = 0
            while let after = last {
                let (text, number) = try await tickets.exportLines(filter, after: after, limit: Self.pageLength)
                if !text.isEmpty { try await writer.write(ByteBuffer(string: text)) }
                last = number
            }
            try await writer.finish(nil)
        }
        let headers: HTTPFields = [
            .contentType: "text/csv; charset=utf-8", .contentDisposition: #"attachment; filename="tickets.csv""#,
            .cacheControl: "no-store",
            .xContentTypeOptions: "nosniff",
        ]
        return Response(status: .ok, headers: headers, body: body)
    }
}

struct ListTicketPeople: Endpoint {
    static let route = Route(
        .get, "/tickets/people", "listTicketPeople",
        "Lists the staff members who have used the app's tickets, by name.",
        callers: .manager(.read, .tickets),
        answers: [
            .answer(
                200, "The `id` and `name` of each staff member.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .object),
                            "next": .string,
                        ])))
        ])

    let access: TicketAccess

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: .read)
        return .page(try await access.people.list(in: caller.space))
    }
}

/// Reads or changes the prefix of the app's ticket keys. A new prefix applies to all tickets at once.
struct TicketSettings: Endpoint {
    static let route = Route(
        .get, "/tickets/settings", "readTicketSettings", "Returns the settings of the app's tickets.",
        callers: .manager(.read, .tickets),
        answers: [
            .answer(
                200, "The settings; `prefix` begins the key of each ticket.",
                .json(
                    .object(
                        [
                            "prefix": .string
                        ])))
        ])
    static let changeTicketSettings = Route(
        .patch, "/tickets/settings", "changeTicketSettings", "Changes the prefix of all ticket keys of the app.",
        callers: .manager(.update, .tickets),
        body: .json(
            .object(
                [
                    "prefix": .string.pattern(#"^[A-Z][A-Z0-9]{0,9}$"#)
                ])),
        answers: [
            .answer(
                200, "The settings after the change.",
                .json(
                    .object(
                        [
                            "prefix": .string
                        ])))
        ])

    let access: TicketAccess
    let tickets: TicketStore
    let isChange: Bool

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let caller = try await access.admit(context, to: isChange ? .update : .read)
        if isChange {
            let fields = try await BodyFields(request, ["prefix"])
            let prefix = try fields.requiredString("prefix")
            guard prefix.wholeMatch(of: /[A-Z][A-Z0-9]{0,9}/) != nil else {
                throw ServiceError.unexpectedMember(
                    "prefix", expected: "1 to 10 characters from A-Z and 0-9, starting with a letter", found: prefix)
            }
            try await tickets.setPrefix(prefix, in: caller.space, by: caller.author)
        }
        return .json(#"{"prefix":\#(JSONValue.quote(try await tickets.prefix(in: caller.space)))}"#)
    }
}
