import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// `GET /notifications/messages/{id}/deliveries?state=&cursor=&limit=`: the message's result on each device, ordered by
/// installation.
struct ListDeliveries: Endpoint {
    static let route = Route(
        .get, "/notifications/messages/{id}/deliveries", "listMessageDeliveries",
        "What became of a message on each device, in the order of installations.",
        callers: .manager(.read, .notifications),
        parameters: [
            .path("id", .uuid, "The message's."),
            .query("state", .oneOf("queued", "sending", "accepted", "failed", "unknown", "cancelled")),
            .query("cursor"),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        answers: [
            .answer(
                200, "A page.",
                .json(
                    .object(
                        [
                            "data": .array(of: .messageDelivery),
                            "next": .string.nullable,
                        ])))
        ],
        errors: [404: "There is no such message (`message-not-found`)."])

    let spaces: Spaces
    let records: DeliveryRecords

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .read, .notifications)
        let (state, limit) = (try request.deliveryState, try request.number("limit", default: 100, in: 1...1_000))
        let after = try request.id("cursor")
        let message = try await context.message(records, spaces)
        let list = try await records.list(of: message, state: state, after: after, limit: limit + 1)
        let page = list.prefix(limit)
        return .page(
            page.map(\.json), next: list.count > limit ? page.last.map { $0.installation.uuidString.lowercased() } : nil
        )
    }
}

/// `GET /notifications/messages/{id}/deliveries/export?state=`: all deliveries of the message as CSV.
///
/// An error after the first byte aborts the response, so the client can tell that it is incomplete.
struct ExportDeliveries: Endpoint {
    static let route = Route(
        .get, "/notifications/messages/{id}/deliveries/export", "exportDeliveries", "The same as CSV, all of them.",
        callers: .manager(.read, .notifications),
        parameters: [
            .path("id", .uuid, "The message's."),
            .query("state", .oneOf("queued", "sending", "accepted", "failed", "unknown", "cancelled")),
        ],
        answers: [
            .answer(200, "The file.", .type("text/csv", .string))
        ],
        errors: [404: "There is no such message (`message-not-found`)."])

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

/// `POST /installations/{id}/opened` with `{"message":"…"}` and the installation's secret: records that the user opened
/// the app from the message. 204; repetitions have no effect.
struct ReportOpened: Endpoint {
    static let route = Route(
        .post, "/installations/{id}/opened", "reportOpened", "The app was opened by a message; counts once.",
        callers: .client,
        parameters: [
            .path("id", .uuid, "The installation's."),
            .header("Installation-Secret", .string, "The installation's secret.", isRequired: true),
        ],
        body: .json(
            .object(
                [
                    "message": .uuid.described("`martlet.message` of the push.")
                ], required: ["message"])),
        answers: [
            .answer(204, "Noted, or noted before.")
        ],
        errors: [
            403: "This is not the installation's secret (`forbidden`).",
            404: """
            There is no such installation, or the message was not for it (`installation-not-found`, \
            `message-not-found`).
            """,
        ])

    let access: InstallationAccess
    let records: DeliveryRecords

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let claim = try await access.check(request, context)
        let text = try await BodyFields(request, ["message"], upTo: 1 << 10).requiredString("message")
        guard let message = UUID(uuidString: text) else {
            throw HTTPProblem(.invalidBody, "This must be a message id, a UUID.", field: "message")
        }
        guard try await records.noteOpened(message, by: claim.id, in: claim.space) else {
            throw HTTPProblem(.messageNotFound)
        }
        return Response(status: .noContent)
    }
}

extension Request {
    /// The `state` parameter; nil matches all states.
    fileprivate var deliveryState: String? {
        get throws {
            guard let state = uri.queryParameters["state"].map(String.init) else { return nil }
            guard DeliveryRecords.states.contains(state) else {
                throw HTTPProblem(
                    .invalidParameter, "This must be one of \(DeliveryRecords.states.joined(separator: ", ")).",
                    field: "state")
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
            throw HTTPProblem(.messageNotFound)
        }
        return id
    }
}
