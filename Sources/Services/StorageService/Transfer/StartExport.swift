import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletJobs

/// Deletes the files of all but the newest finished exports. `FetchJobResult` returns the file.
struct StartExport: Endpoint {
    static let route = Route(
        .post, "/exports/{collection}", "startExport", "Starts a job that exports a collection to a file.",
        callers: .manager(.read, .storage),
        parameters: [
            .collection,
            .query("format", .oneOf("json", "jsonl", "csv"), isRequired: true),
            .query("types", .flag.defaulting(to: true), "For CSV: whether each header names its column's type."),
        ],
        answers: [
            .answer(202, "The job.", .json(.job))
        ],
        errors: [404: "There is no such collection (`collection-not-found`)."])

    /// The number of finished exports whose files an environment keeps, including this one. Older files are deleted.
    static let maximumKept = 10

    let transfers: TransferStores

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.space
        let export = try await transfers.export(request, context.collection, space)
        try await transfers.checkNumberOfJobs(of: space)
        try await transfers.spool.deleteFiles(
            of: ExportCollection.kind, scope: space.jobScope, keepingNewest: Self.maximumKept - 1)
        let options = ExportCollection.Options(
            space: SpaceName(space), collection: export.collection.text, format: export.format,
            areHeadersTyped: export.areHeadersTyped)
        guard let job = try await transfers.jobs.enqueue(ExportCollection.self, options, transfers.options(space))
        else {
            throw ServiceError(.conflict)
        }
        return try await .job(job, transfers, space, status: .accepted)
    }
}
