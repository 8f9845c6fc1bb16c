import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Accepts an event in the original TBAnalytics format; at the gateway `/api/{appKey}/storage/TBAnalytics`. Answers
/// as the original object storage did. Idempotent for events with an `_id`.
struct PostTBAnalyticsEvent: Endpoint {
    static let route = Route(
        .post, "/thesis/events", "sendTBAnalyticsEvent", "Accepts one event in the format of TBAnalytics.",
        callers: .client,
        checksOwnQuery: true,
        body: .json(.tbAnalyticsEvent),
        answers: [
            .answer(201, "The event in the form of a stored object.", .json(.tbAnalyticsEvent))
        ],
        errors: [
            415: "The body has a `Content-Encoding` other than gzip, deflate, br or zstd (`unsupported-media-type`)."
        ])

    let intake: EventIntake

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let origin = try await intake.origin(of: request, context)
        let object: JSONValue
        do {
            object = try JSONValue(parsing: RepairedText.bytes(of: try await intake.body(of: request)))
        } catch let error as JSONError {
            throw ServiceError(error)
        }
        let id = UUIDv7.make(at: origin.received)
        do {
            var reader = EventReader(origin, sentAt: nil)
            let message = try TBAnalyticsEvent(object, newID: id).message
            let event = try message.withUnsafeBufferPointer { try reader.event($0, nil) }
            try await intake.events.take(event.map { [$0] } ?? [], in: origin.space, origin.settings)
        } catch let fault as EventFault {
            throw ServiceError(.invalidBody, fault.reason, field: Self.field(fault.field))
        }
        return try Self.stored(object, id, at: origin.received)
    }

    /// The original name of a field of the message.
    private static func field(_ field: String?) -> String? {
        switch field {
        case "timestamp": "timeStamp"
        case "messageId": "_id"
        case "event", "name": "type"
        default: field
        }
    }

    private static func stored(_ object: JSONValue, _ id: String, at date: Date) throws -> Response {
        guard case .object(let members) = object else { throw ServiceError(.invalidBody) }
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
        // The list's path at the gateway, because an event has no URL of its own.
        response.headers[.location] = "TBAnalytics"
        return response
    }
}

/// Lists events in the original TBAnalytics format; at the gateway `/api/{appKey}/storage/TBAnalytics`.
///
/// Needs the master key, because the events are from all users of the app.
struct ReadTBAnalyticsEvents: Endpoint {
    static let route = Route(
        .get, "/thesis/events", "listTBAnalyticsEvents",
        "Lists events in the format of TBAnalytics, newest first, for the app's own server.", callers: .server,
        parameters: [
            .query("from", .time, "The earliest time of receipt, inclusive; by default a day before `to`."),
            .query("to", .time, "The latest time of receipt, exclusive, at most a day after `from`; by default now."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
            .query("cursor", .string, "`next` from the previous page."),
        ],
        answers: [
            .answer(200, "A page of events: `count`, `data`, and `next` if there are more.", .json(.object))
        ])

    private static let maximumRange: TimeInterval = 86_400
    /// For clocks that differ from the database's, which sets the time of receipt.
    private static let clockTolerance: TimeInterval = 60

    let events: Events

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await events.spaces.space(of: try context.master)
        let to = try request.time("to") ?? events.now() + Self.clockTolerance
        let from = try request.time("from") ?? to - Self.maximumRange
        guard from <= to, to.timeIntervalSince(from) <= Self.maximumRange + Self.clockTolerance else {
            throw ServiceError(.invalidParameter, "Expected a time before to, at most a day earlier.", field: "from")
        }
        let text = request.uri.queryParameters["cursor"].map(String.init)
        let cursor = text.flatMap { EventCursor($0) }
        guard (text == nil) == (cursor == nil) else {
            throw ServiceError(.invalidParameter, "This cursor did not come from an earlier page.", field: "cursor")
        }
        let page = try await events.log.page(
            of: space, from: from, to: to, after: cursor,
            limit: try context.integer("limit"))
        return .page(page.events, next: page.next?.text)
    }
}
