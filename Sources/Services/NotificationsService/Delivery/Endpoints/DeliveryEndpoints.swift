import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

struct ListDeliveries: Endpoint {
    static let route = Route(
        .get, "/notifications/messages/{id}/deliveries", "listMessageDeliveries",
        "Lists the result of a message on each device, ordered by installation.",
        callers: .manager(.read, .notifications),
        parameters: [
            .path("id", .uuid, "The id of the message."),
            .query("state", .oneOf("queued", "sending", "accepted", "failed", "unknown", "cancelled")),
            .query("cursor"),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        answers: [
            .answer(
                200, "A page of deliveries.",
                .json(
                    .object(
                        [
                            "data": .array(of: .messageDelivery),
                            "next": .string.nullable,
                        ])))
        ],
        errors: [404: "The app has no such message (`message-not-found`)."])

    let spaces: Spaces
    let records: DeliveryRecords

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .read, .notifications)
        let (state, limit) = (try request.deliveryState, try context.integer("limit"))
        let after = try request.id("cursor")
        let message = try await context.message(records, spaces)
        let list = try await records.list(of: message, state: state, after: after, limit: limit + 1)
        let page = list.prefix(limit)
        return .page(
            page.map(\.json), next: list.count > limit ? page.last.map { $0.installation.uuidString.lowercased() } : nil
        )
    }
}

/// An error after the first byte aborts the response, so the client can tell that it is incomplete.
struct ExportDeliveries: Endpoint {
    static let route = Route(
        .get, "/notifications/messages/{id}/deliveries/export", "exportDeliveries",
        "Exports the results of a message on all devices as CSV.",
        callers: .manager(.read, .notifications),
        parameters: [
            .path("id", .uuid, "The id of the message."),
            .query("state", .oneOf("queued", "sending", "accepted", "failed", "unknown", "cancelled")),
        ],
        answers: [
            .answer(200, "The CSV file.", .type("text/csv", .string))
        ],
        errors: [404: "The app has no such message (`message-not-found`)."])

    private static let pageLength = 1_000

    let spaces: Spaces
    let records: DeliveryRecords

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .read, .notifications)
        let state = try request.deliveryState
        let message = try await context.message(records, spaces)
        let body = ResponseBody { [records] writer in
            try await writer.write(ByteBuffer(string: DeliveryRecords.exportHeader))
            var last: UUID?
            repeat {
                let (text, installation) = try await records.exportLines(
                    of: message, state: state, after: last, limit: Self.pageLength)
                if !text.isEmpty { try await writer.write(ByteBuffer(string: text)) }
                last = installation
            } while last != nil
            try await writer.finish(nil)
        }
        let headers: HTTPFields = [
            .contentType: "text/csv; charset=utf-8", .contentDisposition: #"attachment; filename="deliveries.csv""#,
            .cacheControl: "no-store",
            .xContentTypeOptions: "nosniff",
        ]
        return Response(status: .ok, headers: headers, body: body)
    }
}

/// Idempotent: only the first report of a message counts.
struct ReportOpened: Endpoint {
    static let route = Route(
        .post, "/installations/{id}/opened", "reportOpened", "Records that the user opened the app from a message.",
        callers: .client,
        parameters: [
            .path("id", .uuid, "The id of the installation."),
            .header("Installation-Secret", .string, "The installation's secret.", isRequired: true),
        ],
        body: .json(
            .object(
                [
                    "message": .uuid.described("The value of `martlet.message` in the push.")
                ], required: ["message"])),
        answers: [
            .answer(204, "The report is recorded, now or by an earlier call.")
        ],
        errors: [
            403: "`Installation-Secret` is missing, malformed or wrong (`forbidden`).",
            404: """
            The app has no such installation, or the message was not sent to it (`installation-not-found`, \
            `message-not-found`).
            """,
        ])

    let access: InstallationAccess
    let records: DeliveryRecords

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let claim = try await access.check(request, context)
        let text = try await BodyFields(request, ["message"], upTo: 1 << 10).requiredString("message")
        guard let message = UUID(uuidString: text) else {
            throw ServiceError(.invalidBody, "Expected a message id, a UUID.", field: "message")
        }
        guard try await records.recordOpened(message, by: claim.id, in: claim.space) else {
            throw ServiceError(.messageNotFound)
        }
        return Response(status: .noContent)
    }
}

extension Request {
    /// The `state` parameter; nil matches all states.
    fileprivate var deliveryState: String? {
        get throws {
            guard let text = uri.queryParameters["state"] else { return nil }
            let state = String(text)
            guard DeliveryRecords.states.contains(state) else {
                let expected = DeliveryRecords.states.joined(separator: ", ")
                throw ServiceError.unexpectedParameter("state", expected: "one of \(expected)", found: text)
            }
            return state
        }
    }
}

extension ServiceContext {
    /// The `:id` in the path, if it names a message of the app.
    ///
    /// - Throws: `invalid-id`; `message-not-found`.
    fileprivate func message(_ records: DeliveryRecords, _ spaces: Spaces) async throws -> UUID {
        let id = try uuid("id", else: .invalidID, "A message id must be a UUID.")
        guard try await records.hasMessage(id, in: try await spaces.space(of: try principal)) else {
            throw ServiceError(.messageNotFound)
        }
        return id
    }
}
