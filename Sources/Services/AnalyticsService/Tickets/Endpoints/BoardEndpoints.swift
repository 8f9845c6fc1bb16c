import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// `GET /tickets/board` with the parameters of `TicketFilter`, and `limit` (1…200, 100) for each column: the columns
/// with their counts and first tickets. More of one: `GET /tickets?status=…&sort=position&cursor=<next>` with the same
/// filter.
struct ReadBoard: Endpoint {
    static let route = Route(
        .get, "/tickets/board", "readBoard", "The columns by status, with counts and their first tickets.",
        callers: .manager(.read, .tickets),
        parameters: [
            .query("status", .string, "`todo`, `inProgress`, `onHold`, `complete`; several with commas."),
            .query("type", .string, "`bug`, `feature`, `improvement`, `task`, `feedback`."),
            .query("priority", .string, "`low`, `medium`, `high`, `urgent`."),
            .query("assignee", .string, "Ids of staff, `me`, `none`."),
            .query("label", .string, "Names, `none`."),
            .query("sprint", .string, "Numbers, `active`, `none`."),
            .query("version", .string, "App versions."),
            .query("issue", .string, "Numbers of crash issues."),
            .query("search", .string, "Beginnings of words, all of which occur; or a number."),
            .query("createdBy", .string, "`staff:<id>` or the id alone, `me`, `key:<id>`, `client`."),
            .query("updatedAfter", .string, "RFC 3339."),
            .query("blocked", .string, "`true` or `false`."),
            .query("limit", .integer, "Of each column."),
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
        let visitor = try await access.admit(context, to: .read)
        let filter = try TicketFilter(request, in: visitor.space, staff: visitor.staff)
        let limit = try request.number("limit", default: 100, in: 1...200)
        let generation: Int64
        var columns: [TicketStore.Column]
        (generation, columns) = try await tickets.board(filter, in: visitor.space, limit: limit)
        // All at once: whoever works on one column works on the next.
        var named = try await access.named(columns.flatMap(\.tickets), in: visitor.space)[...]
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

/// `GET /tickets/events`: server-sent events, each with the numbers of tickets that changed. `after`, or
/// `Last-Event-ID`, is the generation from which on; a board has one.
struct FollowTickets: Endpoint {
    static let route = Route(
        .get, "/tickets/events", "followTickets", "Server-sent events: which tickets changed.",
        callers: .manager(.read, .tickets),
        parameters: [
            .query("after", .integer, "A generation, such as a board has; `Last-Event-ID` stands for it.")
        ],
        answers: [
            .answer(
                200, "`changed` with `{\"generation\",\"tickets\":[…]}` or `{\"generation\",\"all\":true}`.",
                .type("text/event-stream", .string))
        ])

    private static let lastEvent = HTTPField.Name("Last-Event-ID")!

    let access: TicketAccess
    let streams: TicketStreams

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(context, to: .read)
        let text = request.headers[Self.lastEvent] ?? request.uri.queryParameters["after"].map(String.init)
        let generation = try text.map { text in
            guard let generation = Int64(text), generation >= 0 else {
                throw HTTPProblem(.invalidParameter, "It must be a generation.", field: "after")
            }
            return generation
        }
        return try await streams.response(visitor.space, after: generation)
    }
}

/// `GET /tickets/export` with the parameters of `TicketFilter`: the tickets as CSV, in the order of their numbers.
///
/// An error behind the first byte cuts the answer off, which HTTP tells the reader.
struct ExportTickets: Endpoint {
    static let route = Route(
        .get, "/tickets/export", "exportTickets", "Tickets as CSV.", callers: .manager(.read, .tickets),
        parameters: [
            .query("status", .string, "`todo`, `inProgress`, `onHold`, `complete`; several with commas."),
            .query("type", .string, "`bug`, `feature`, `improvement`, `task`, `feedback`."),
            .query("priority", .string, "`low`, `medium`, `high`, `urgent`."),
            .query("assignee", .string, "Ids of staff, `me`, `none`."),
            .query("label", .string, "Names, `none`."),
            .query("sprint", .string, "Numbers, `active`, `none`."),
            .query("version", .string, "App versions."),
            .query("issue", .string, "Numbers of crash issues."),
            .query("search", .string, "Beginnings of words, all of which occur; or a number."),
            .query("createdBy", .string, "`staff:<id>` or the id alone, `me`, `key:<id>`, `client`."),
            .query("updatedAfter", .string, "RFC 3339."),
            .query("blocked", .string, "`true` or `false`."),
            .query("deleted", .boolean, "`true`: what is in the bin."),
        ],
        answers: [
            .answer(200, "The file.", .type("text/csv", .string))
        ])

    /// Descriptions may be long.
    private static let pageLength = 100

    let access: TicketAccess
    let tickets: TicketStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let visitor = try await access.admit(context, to: .read)
        let filter = try TicketFilter(request, in: visitor.space, staff: visitor.staff)
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

/// `GET /tickets/people`: `{"id","name"}` of staff who have worked with the tickets.
struct ListTicketPeople: Endpoint {
    static let route = Route(
        .get, "/tickets/people", "listTicketPeople", "Names of staff who have worked with the tickets.",
        callers: .manager(.read, .tickets),
        answers: [
            .answer(
                200, "`{\"id\",\"name\"}`.",
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
        let visitor = try await access.admit(context, to: .read)
        return .page(try await access.people.list(in: visitor.space))
    }
}

/// `GET /tickets/settings`: `{"prefix"}`, and `PATCH`: another prefix, at once before all numbers.
struct TicketSettings: Endpoint {
    static let route = Route(
        .get, "/tickets/settings", "readTicketSettings", "What stands before numbers.",
        callers: .manager(.read, .tickets),
        answers: [
            .answer(
                200, "The settings.",
                .json(
                    .object(
                        [
                            "prefix": .string
                        ])))
        ])
    static let changeTicketSettings = Route(
        .patch, "/tickets/settings", "changeTicketSettings", "Another prefix.", callers: .manager(.update, .tickets),
        body: .json(
            .object(
                [
                    "prefix": .string.pattern(#"^[A-Z][A-Z0-9]{0,9}$"#)
                ])),
        answers: [
            .answer(
                200, "The settings.",
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
        let visitor = try await access.admit(context, to: isChange ? .update : .read)
        if isChange {
            let fields = try await BodyFields(request, ["prefix"])
            let prefix = try fields.requiredString("prefix")
            guard prefix.wholeMatch(of: /[A-Z][A-Z0-9]{0,9}/) != nil else {
                throw HTTPProblem(.invalidBody, "A prefix is 1 to 10 of A-Z and 0-9, a letter first.", field: "prefix")
            }
            try await tickets.setPrefix(prefix, in: visitor.space, by: visitor.author)
        }
        return .json(#"{"prefix":\#(JSONValue.quote(try await tickets.prefix(in: visitor.space)))}"#)
    }
}
