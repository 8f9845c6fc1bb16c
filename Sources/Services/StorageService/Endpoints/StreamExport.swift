import HTTPTypes
import Hummingbird
import MartletAPI
import MartletHTTP
import MartletPostgres

/// `GET /exports/{collection}?format=json|jsonl|csv&types=true`: the collection as a file, of one moment, as it is
/// read; master key.
///
/// An error behind the first byte cuts the answer off, which HTTP tells the reader. Takes no longer than `timeLimit`; a
/// job does.
struct StreamExport: Endpoint {
    static let route = Route(
        .get, "/exports/{collection}", "streamExport", "The collection as a file, of one moment.", callers: .server,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`."),
            .query("format", .oneOf("json", "jsonl", "csv"), isRequired: true),
            .query("types", .boolean.defaulting(to: true), "CSV; whether each header names its column's type."),
        ],
        answers: [
            .answer(200, "The file.", .type("application/json"), .type("application/x-ndjson"), .type("text/csv"))
        ])

    static let timeLimit: Duration = .seconds(1_800)

    let transfers: TransferStores

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let export = try await transfers.export(request, context.collection, context.managedSpace)
        guard let place = transfers.exports.take() else {
            throw HTTPProblem(.unavailable, "Too many exports run here; try again, or POST to have a job do it.")
        }
        let end = ContinuousClock.now + Self.timeLimit
        let body = ResponseBody { [transfers] writer in
            // An answer that is thrown away without its body drops the place.
            defer { place.leave() }
            _ = try await export.run(on: transfers.postgres) { _ in
                guard ContinuousClock.now < end else { throw HTTPProblem(.upstreamTimeout) }
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
    func export(_ request: Request, _ collection: CollectionName, _ space: AppSpace) async throws -> CollectionExport {
        let parameters = request.uri.queryParameters
        let format = try TransferFormat(parameter: parameters["format"])
        let areTyped = try parameters["types"].map { try ListQuery.flag($0, "types") } ?? true
        try await spaces.prepare(space)
        let rows = try await postgres.query(
            "SELECT FROM pg_tables WHERE schemaname = \(space.schema) AND tablename = \(collection.text)")
        guard !rows.isEmpty else { throw HTTPProblem(.collectionNotFound) }
        return CollectionExport(format: format, areHeadersTyped: areTyped, collection: collection, space: space)
    }
}

extension HTTPFields {
    /// Of a file to be saved; never shown by a browser as a page. The name needs no escape.
    static func download(_ contentType: String, _ name: String, sizeInBytes: Int? = nil) -> HTTPFields {
        var headers: HTTPFields = [
            .contentType: contentType, .contentDisposition: "attachment; filename=\"\(name)\"",
            .xContentTypeOptions: "nosniff",
        ]
        if let sizeInBytes { headers[.contentLength] = String(sizeInBytes) }
        return headers
    }
}
