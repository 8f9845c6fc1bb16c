import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `POST /thesis/events`, of the gateway's `/api/{appKey}/storage/TBAnalytics`: one event in the thesis's form; 201
/// with the object as storage would answer it. With an `_id` that has come before nothing changes.
struct TakeTBAnalyticsEvent: Endpoint {
    static let route = Route(
        .post, "/thesis/events", "sendTBAnalyticsEvent", "One event in the form of TBAnalytics.", callers: .client,
        checksOwnQuery: true,
        body: .json(.tbAnalyticsEvent),
        answers: [
            .answer(201, "The object as storage would answer it.", .json(.tbAnalyticsEvent))
        ],
        errors: [415: "Packed in another way than gzip, deflate, br or zstd (`unsupported-media-type`)."])

    let intake: EventIntake

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let origin = try await intake.origin(of: request, context, for: [.client, .master])
        let object: JSONValue
        do {
            object = try JSONValue(parsing: MendedText.bytes(of: try await intake.body(of: request)))
        } catch let error as JSONError {
            throw HTTPProblem(error)
        }
        let id = UUIDv7.make(at: origin.received)
        do {
            var reader = EventReader(origin, sentAt: nil)
            let message = try TBAnalyticsEvent(object, newID: id).message
            let event = try message.withUnsafeBufferPointer { try reader.event($0, nil) }
            try await intake.events.take(event.map { [$0] } ?? [], in: origin.space, origin.settings)
        } catch let fault as EventFault {
            throw HTTPProblem(.invalidBody, fault.reason, field: Self.field(fault.field))
        }
        return try Self.stored(object, id, at: origin.received)
    }

    /// By the name that the thesis has for it.
    private static func field(_ field: String?) -> String? {
        switch field {
        case "timestamp": "timeStamp"
        case "messageId": "_id"
        case "event", "name": "type"
        default: field
        }
    }

    private static func stored(_ object: JSONValue, _ id: String, at date: Date) throws -> Response {
        guard case .object(let members) = object else { throw HTTPProblem(.invalidBody) }
        let time = JSONValue.string(date.ISO8601Format(.init(includingFractionalSeconds: true)))
        let own: [JSONValue.Member] = [
            .init("_id", object["_id"].flatMap(\.scalar).map { .string($0) } ?? .string(id)), .init("created", time),
            .init("updated", time),
            .init("deleted", .null), .init("_version", .number("1")),
        ]
        let names = Set(own.map(\.name))
        let body = JSONValue.object(own + members.filter { !names.contains($0.name) }).text
        var response = Response.json(body)
        response.status = .created
        // The list, by the gateway's path, as an event has no address of its own.
        response.headers[.location] = "TBAnalytics"
        return response
    }
}

/// `GET /thesis/events?from=&to=&limit=&cursor=`, of the gateway's `/api/{appKey}/storage/TBAnalytics`: events that
/// were received in a span of a day at most, the last 24 hours by default, the latest first; for the app's own server.
///
/// Not for apps: whoever has one would read what all its users do.
struct ReadTBAnalyticsEvents: Endpoint {
    static let route = Route(
        .get, "/thesis/events", "listTBAnalyticsEvents",
        "Events as they were sent, the latest first; for the app's own server only.", callers: .server,
        parameters: [
            .query("from", .time, "Received at or after; without: a day before `to`."),
            .query("to", .time, "Received before; a day behind `from` at most; without: now."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
            .query("cursor", .string, "The answer's `next` before."),
        ],
        answers: [
            .answer(200, "`count`, `data`, and `next` where there are more.", .json(.object))
        ])

    private static let longest: TimeInterval = 86_400

    let events: Events

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await events.spaces.space(of: try context.master)
        let to = try request.time("to") ?? Date() + 60
        let from = try request.time("from") ?? to - Self.longest
        guard from <= to, to.timeIntervalSince(from) <= Self.longest + 60 else {
            throw HTTPProblem(.invalidParameter, "It must lie before to, by a day at most.", field: "from")
        }
        let text = request.uri.queryParameters["cursor"].map(String.init)
        let cursor = text.flatMap { EventCursor($0) }
        guard (text == nil) == (cursor == nil) else {
            throw HTTPProblem(.invalidParameter, "This is no answer's next.", field: "cursor")
        }
        let page = try await events.log.page(
            of: space, from: from, to: to, behind: cursor,
            limit: try request.number("limit", default: 100, in: 1...1_000))
        return .page(page.events, next: page.next?.text)
    }
}
