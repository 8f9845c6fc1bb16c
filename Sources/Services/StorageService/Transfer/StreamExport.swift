import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// An error after the first byte aborts the answer, which the client detects as an incomplete body.
///
/// Takes no longer than `timeLimit`; a job (`StartExport`) may take longer.
struct StreamExport: Endpoint {
    static let route = Route(
        .get, "/exports/{collection}", "streamExport", "Exports a consistent snapshot of a collection as a file.",
        callers: .manager(.read, .storage),
        parameters: [
            .collection,
            .query("format", .oneOf("json", "jsonl", "csv"), isRequired: true),
            .query("types", .flag.defaulting(to: true), "For CSV: whether each header names its column's type."),
        ],
        answers: [
            .answer(200, "The file.", .type("application/json"), .type("application/x-ndjson"), .type("text/csv"))
        ],
        errors: [404: "There is no such collection (`collection-not-found`)."])

    static let timeLimit: Duration = .seconds(1_800)

    let transfers: TransferStores

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let export = try await transfers.export(request, context.collection, context.space)
        guard let slot = transfers.exports.take() else {
            throw ServiceError(
                .unavailable,
                "Too many exports are in progress. Try again later, or use POST to have a job write the file.")
        }
        let end = ContinuousClock.now + Self.timeLimit
        let body = ResponseBody { [transfers] writer in
            // If the answer is discarded without writing its body, `slot` is deallocated and thereby released.
            defer { slot.release() }
            _ = try await export.run(on: transfers.postgres) { _ in
                guard ContinuousClock.now < end else { throw ServiceError(.upstreamTimeout) }
            } _: { piece in
                try await writer.write(piece)
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: .download(export.format.contentType, export.fileName), body: body)
    }
}

extension TransferStores {
    /// - Throws: `invalid-parameter`, `collection-not-found`.
    func export(_ request: Request, _ collection: CollectionName, _ space: AppSchema) async throws -> CollectionExport {
        let parameters = request.uri.queryParameters
        let format = try TransferFormat(parameter: parameters["format"])
        let areTyped = try ListQuery.flag("types", in: request, default: true)
        try await spaces.prepare(space)
        let rows = try await postgres.query(
            "SELECT FROM pg_tables WHERE schemaname = \(space.schema) AND tablename = \(collection.text)")
        guard !rows.isEmpty else { throw ServiceError(.collectionNotFound) }
        return CollectionExport(format: format, areHeadersTyped: areTyped, collection: collection, space: space)
    }
}

extension HTTPFields {
    /// The headers of a file that browsers must save and never display as a page. The name must not need escaping.
    static func download(_ contentType: String, _ name: String, sizeInBytes: Int? = nil) -> HTTPFields {
        var headers: HTTPFields = [
            .contentType: contentType, .contentDisposition: "attachment; filename=\"\(name)\"",
            .xContentTypeOptions: "nosniff",
        ]
        if let sizeInBytes { headers[.contentLength] = String(sizeInBytes) }
        return headers
    }
}
