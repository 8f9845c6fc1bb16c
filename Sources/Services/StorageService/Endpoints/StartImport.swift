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
