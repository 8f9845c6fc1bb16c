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
    let spaces: Spaces
    let records: DeliveryRecords

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .read, .notifications)
        try request.allowParameters(["state", "cursor", "limit"])
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
    private static let pageLength = 1_000

    let spaces: Spaces
    let records: DeliveryRecords

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .read, .notifications)
        try request.allowParameters(["state"])
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
    let access: InstallationAccess
    let records: DeliveryRecords

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
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
        guard let id = parameters.get("id").flatMap({ UUID(uuidString: $0) }) else {
            throw HTTPProblem(.invalidID, "A message id must be a UUID.")
        }
        guard try await records.hasMessage(id, in: try await spaces.space(of: try principal)) else {
            throw HTTPProblem(.messageNotFound)
        }
        return id
    }
}
