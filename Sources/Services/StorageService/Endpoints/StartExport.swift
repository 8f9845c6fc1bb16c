import Hummingbird
import MartletAPI
import MartletHTTP
import MartletJobs

/// `POST /exports/{collection}?format=…&types=true`: the same file by a job, 202 with it; master key. `FetchJobResult`
/// hands it out.
struct StartExport: Endpoint {
    static let route = Route(
        .post, "/exports/{collection}", "startExport", "Has a job write the file.", callers: .server,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`."),
            .query("format", .oneOf("json", "jsonl", "csv"), isRequired: true),
            .query("types", .boolean.defaulting(to: true), "CSV; whether each header names its column's type."),
        ],
        answers: [
            .answer(202, "The job.", .json(.job))
        ])

    /// Files of finished exports of an environment, this one with them; those before it go.
    static let maximumKept = 10

    let transfers: TransferStores

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.managedSpace
        let export = try await transfers.export(request, context.collection, space)
        try await transfers.checkNumberOfJobs(of: space)
        try await transfers.spool.deleteFiles(
            of: ExportCollection.kind, scope: space.jobScope, butForTheNewest: Self.maximumKept - 1)
        let options = ExportCollection.Options(
            space: SpaceName(space), collection: export.collection.text, format: export.format,
            areHeadersTyped: export.areHeadersTyped)
        guard let job = try await transfers.jobs.enqueue(ExportCollection.self, options, transfers.options(space))
        else {
            throw HTTPProblem(.conflict)
        }
        return try await .job(job, transfers, space, status: .accepted)
    }
}
