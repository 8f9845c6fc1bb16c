import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP
import MartletJobs
import MartletPostgres
import NIOCore

/// `POST
/// /imports/{collection}?format=json|jsonl|csv&dryRun=&skipBad=&existing=&delimiter=&types=&emptyIsNull=&idField=`, 202
/// with the job; master key.
///
/// The body is the file. It goes to the spool as it comes in; what it holds is looked at by the job.
struct StartImport: Endpoint {
    static let route = Route(
        .post, "/imports/{collection}", "startImport", "Imports a file by a job.", callers: .server,
        parameters: [
            .path(
                "collection", .collectionName,
                "Name of a collection; not `all`, `query`, `remove`, `batch`, `aggregate` or `distinct`."),
            .query("format", .oneOf("json", "jsonl", "csv"), isRequired: true),
            .query("dryRun", .boolean.defaulting(to: false), "Only look, and tell."),
            .query("skipBad", .boolean.defaulting(to: false), "Store the good records although there are bad ones."),
            .query(
                "existing", .oneOf("refuse", "replace", "skip").defaulting(to: "refuse"),
                "What becomes of a record whose id the collection has."),
            .query("delimiter", .oneOf(",", ";", "tab"), "CSV; found out by default."),
            .query("types", .string, "CSV; `age:number,zip:string`."),
            .query("emptyIsNull", .boolean.defaulting(to: false), "CSV; an empty cell is null instead of no value."),
            .query("idField", .string, "The field that holds the id instead of `_id`."),
        ],
        body: .contents(.type("application/json"), .type("application/x-ndjson"), .type("text/csv"), text: "The file."),
        answers: [
            .answer(202, "The job.", .json(.job))
        ])

    let transfers: TransferStores
    let maximumSizeInBytes: Int

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (collection, space) = (try context.collection, try context.managedSpace)
        var options = try ImportOptions(request, collection: collection, space: space)
        try await transfers.checkNumberOfJobs(of: space)
        var file = try await transfers.spool.write(
            options.file, contentType: options.format.contentType, name: collection.text)
        do {
            for try await piece in try CompleteBody(request, limitInBytes: maximumSizeInBytes) {
                guard file.sizeInBytes + piece.readableBytes <= maximumSizeInBytes else {
                    throw HTTPProblem(.payloadTooLarge, "The file may have at most \(maximumSizeInBytes) bytes.")
                }
                try await file.write(piece)
            }
            try await file.finish()
            options.sizeInBytes = file.sizeInBytes
            let job = try await start(options, space)
            return try await .job(job, transfers, space, status: .accepted)
        } catch {
            // In a task of its own: this one is cancelled when the client goes away.
            await Task { try? await transfers.spool.delete(options.file) }.value
            throw error
        }
    }

    private func start(_ options: ImportOptions, _ space: AppSpace) async throws -> UUID {
        try await transfers.postgres.withTransaction { transaction in
            guard
                let job = try await transfers.jobs.enqueue(
                    ImportCollection.self, options, transfers.options(space), in: transaction)
            else { throw HTTPProblem(.conflict) }
            try await transfers.spool.give(options.file, to: job, in: transaction)
            return job
        }
    }
}
