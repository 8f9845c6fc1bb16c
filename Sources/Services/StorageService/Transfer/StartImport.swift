import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletJobs
import MartletPostgres
import NIOCore

/// Streams the file to the spool without parsing it; the job validates its contents.
struct StartImport: Endpoint {
    static let route = Route(
        .post, "/imports/{collection}", "startImport", "Starts a job that imports the objects in a file.",
        callers: .manager(.create, .storage),
        parameters: [
            .collection,
            .query("format", .oneOf("json", "jsonl", "csv"), isRequired: true),
            .query(
                "dryRun", .flag, "Whether to only validate the file and report the result."),
            .query(
                "skipBad", .flag,
                "Whether to store the valid records even if others are invalid."),
            .query(
                "existing", .oneOf("refuse", "replace", "skip").defaulting(to: "refuse"),
                "What to do with a record whose id exists in the collection. `refuse` treats it as invalid."),
            .query("delimiter", .oneOf(",", ";", "tab", "\t"), "For CSV: the delimiter. Detected by default."),
            .query("types", .string, "For CSV: the types of columns, such as `age:number,zip:string`."),
            .query(
                "emptyIsNull", .flag,
                "For CSV: whether an empty cell is null instead of no value."),
            .query("idField", .string, "The top-level field that contains the id, if it is not `_id`."),
        ],
        details: """
            Staff who replace existing objects need the right to update as well, and must have signed in or confirmed \
            within ten minutes.
            """,
        body: .contents(
            .type("application/json"), .type("application/x-ndjson"), .type("text/csv"), text: "The file to import."),
        answers: [
            .answer(202, "The job.", .json(.job))
        ])

    let transfers: TransferStores
    let maximumSizeInBytes: Int

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (collection, space) = (try context.collectionOfApp, try context.space)
        var options = try ImportOptions(request, collection: collection, space: space)
        if options.existing == .replace {
            _ = try context.author(may: .update, .storage)
            try context.requireConfirmation()
        }
        try await transfers.checkNumberOfJobs(of: space)
        var file = try await transfers.spool.write(
            options.file, contentType: options.format.contentType, name: collection.text)
        do {
            for try await piece in try CompleteBody(request, limitInBytes: maximumSizeInBytes) {
                guard file.sizeInBytes + piece.readableBytes <= maximumSizeInBytes else {
                    throw ServiceError(.payloadTooLarge, "The file may have at most \(maximumSizeInBytes) bytes.")
                }
                try await file.write(piece)
            }
            try await file.finish()
            options.sizeInBytes = file.sizeInBytes
            let job = try await start(options, space)
            return try await .job(job, transfers, space, status: .accepted)
        } catch {
            // In a separate task, because this one is cancelled if the client disconnects.
            await Task { try? await transfers.spool.delete(options.file) }.value
            throw error
        }
    }

    private func start(_ options: ImportOptions, _ space: AppSchema) async throws -> UUID {
        try await transfers.postgres.withTransaction { transaction in
            guard
                let job = try await transfers.jobs.enqueue(
                    ImportCollection.self, options, transfers.options(space), in: transaction)
            else { throw ServiceError(.conflict) }
            try await transfers.spool.assign(options.file, to: job, in: transaction)
            return job
        }
    }
}
