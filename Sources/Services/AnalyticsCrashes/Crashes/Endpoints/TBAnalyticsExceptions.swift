import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletSentry

/// Accepts exceptions in the original TBAnalytics format; at the gateway `/api/{appKey}/storage/TBException`. A list is
/// stored as a whole or not at all.
struct PostTBAnalyticsException: Endpoint {
    static let route = Route(
        .post, "/thesis/exceptions", "sendTBAnalyticsException",
        "Accepts an exception, or a list of up to 100, in the format of TBException.", callers: .client,
        checksOwnQuery: true,
        body: .json(
            .exactlyOne(
                .object,
                .array(of: .object).maxItems(100))),
        answers: [
            .answer(
                200, "The `_id` of the report; for a list `count`, and `data` with an `_id` for each.", .json(.object))
        ])

    private static let maximumCount = 100
    private static let maximumSizeInBytes = 1 << 20

    let intake: CrashIntake

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.principal
        let body = try await request.wholeBody(upTo: Self.maximumSizeInBytes)
        let value: JSONValue
        do { value = try LooseJSON.value(body.readableBytesView) } catch { throw ServiceError(error) }
        guard case .array(let elements) = value else { return .json(try await store([value], principal)[0]) }
        guard elements.count <= Self.maximumCount else {
            throw ServiceError(.limitExceeded, "At most \(Self.maximumCount) exceptions can be sent at once.")
        }
        return .page(try await store(elements, principal))
    }

    private func store(_ values: [JSONValue], _ principal: Principal) async throws -> [String] {
        let envelopes = try values.map { try Self.envelope($0, principal) }
        do {
            try await intake.take(envelopes.map(\.envelope), of: principal)
        } catch let refusal as EnvelopeRefusal {
            guard refusal.status == .tooManyRequests else { throw ServiceError(.payloadTooLarge, refusal.causes.first) }
            let seconds = refusal.rateLimits.map(\.seconds).max() ?? 60
            throw ServiceError(.tooManyRequests, refusal.detail, retryAfter: seconds)
        }
        return envelopes.map { #"{"_id":"\#($0.id.eventID)"}"# }
    }

    private static func envelope(_ value: JSONValue, _ principal: Principal) throws -> (id: UUID, envelope: Envelope) {
        guard case .object = value else {
            throw ServiceError(.invalidBody, "Expected an exception as a JSON object, found \(value.kind.phrase).")
        }
        var event = TBAnalyticsException(value).event
        // The user in the access token takes precedence over the one that the app reports.
        if let user = principal.userID { event = event.setting("user", .object([.init("id", .string(user))])) }
        let id = UUID()
        let header = JSONValue.object([.init("event_id", .string(id.eventID))])
        let item = Envelope.Item(header: .object([]), type: "event", payload: Array(event.text.utf8)[...])
        return (id, Envelope(header: header, items: [item]))
    }
}

extension JSONValue {
    /// A copy of the object with the member set.
    fileprivate func setting(_ name: String, _ value: JSONValue) -> JSONValue {
        guard case .object(let members) = self else { return self }
        return .object(members.filter { $0.name != name } + [.init(name, value)])
    }
}

/// Needs the master key, because the reports are from all users of the app.
struct ListTBAnalyticsExceptions: Endpoint {
    static let route = Route(
        .get, "/thesis/exceptions", "listTBAnalyticsExceptions",
        "Lists the latest reports in the format of TBException, newest first, for the app's own server.",
        callers: .server,
        parameters: [
            .query("skip", .integer.range(0, 10_000).defaulting(to: 0)),
            .query("limit", .integer.range(1, 100).defaulting(to: 100)),
        ],
        answers: [
            .answer(200, "The reports: `count` and `data`.", .json(.object))
        ])

    let spaces: Spaces
    let exceptions: TBAnalyticsExceptionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await spaces.space(of: try context.master)
        let (skip, limit) = (
            try context.integer("skip"),
            try context.integer("limit")
        )
        return .page(try await exceptions.latest(in: space, skip: skip, limit: limit))
    }
}

/// Reads reports in the original TBAnalytics format.
struct TBAnalyticsExceptionStore: Sendable {
    let postgres: PostgresClient

    /// The latest reports as JSON objects, newest first.
    func latest(in space: Space, skip: Int, limit: Int) async throws -> [String] {
        let rows = try await postgres.query(
            """
            SELECT json_build_object('_id', replace(e.event_id::text, '-', ''), 'created', \(PostgresQuery.rfc3339("e.received")),
                'timeStamp', \(PostgresQuery.rfc3339("e.at")),
                'level', (ARRAY['Debug', 'Info', 'Warning', 'Error', 'Fatal'])[e.level], 'caught', e.handled,
                'name', e.content #>> '{exception,values,-1,type}', 'reason', e.content #>> '{exception,values,-1,value}', 'message', e.message,
                'userInfo', e.content -> 'extra', 'tags', coalesce(e.content -> 'tags', '{}'), 'osVersion', e.os, 'deviceModel', e.device,
                'buildVersion', coalesce(r.name, ''), 'configVersion', e.configuration, 'issue', i.number,
                'stackSymbols', coalesce((SELECT json_agg(coalesce(f.frame ->> 'function', f.frame ->> 'instruction_addr', '') ORDER BY f.place DESC)
                    FROM jsonb_array_elements(CASE jsonb_typeof(e.content #> '{exception,values,-1,stacktrace,frames}') WHEN 'array'
                        THEN e.content #> '{exception,values,-1,stacktrace,frames}' ELSE '[]' END) WITH ORDINALITY AS f (frame, place)), '[]'))::text
            FROM analytics.crash_events AS e JOIN analytics.issues AS i ON i.id = e.issue LEFT JOIN analytics.releases AS r ON r.id = e.release
            WHERE e.space = \(space.id) ORDER BY e.received DESC, e.id DESC OFFSET \(skip) LIMIT \(limit)
            """)
        return try rows.map { try $0.decode(0) }
    }
}
