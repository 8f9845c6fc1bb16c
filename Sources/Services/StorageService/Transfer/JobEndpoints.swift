import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletJobs
import MartletPostgres
import NIOCore

struct ListJobs: Endpoint {
    static let route = Route(
        .get, "/jobs", "listJobs", "Lists the environment's jobs, newest first.", callers: .manager(.read, .storage),
        parameters: [
            .query("limit", .integer.range(1, 100).defaulting(to: 20), "The maximum number of jobs to return."),
            .query("before", .uuid, "The id of the last job of the previous page."),
        ],
        answers: [
            .answer(200, "`count`, and the jobs in `data`.")
        ])

    let transfers: TransferStores

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.space
        let parameters = request.uri.queryParameters
        let limit = try parameters["limit"].map { try ListQuery.integer($0, "limit", in: 1...100) } ?? 20
        let before = try request.id("before")
        let jobs = try await transfers.jobs.jobs(scope: space.jobScope, before: before, limit: limit)
        let data = jobs.map(\.json.text).joined(separator: ",")
        return .json(ByteBuffer(string: "{\"count\":\(jobs.count),\"data\":[\(data)]}"))
    }
}

struct ReadJob: Endpoint {
    static let route = Route(
        .get, "/jobs/{id}", "readJob", "Returns a job.", callers: .manager(.read, .storage),
        parameters: [
            .path("id", .uuid, "The job's id.")
        ],
        answers: [
            .answer(200, "The job.", .json(.job))
        ],
        errors: [404: "There is no such job (`job-not-found`)."])

    let transfers: TransferStores

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.space
        return try await .job(context.jobID, transfers, space)
    }
}

/// Idempotent: a finished job stays as it is. A running job ends some time after the answer.
struct CancelJob: Endpoint {
    static let route = Route(
        .delete, "/jobs/{id}", "cancelJob", "Cancels a job that has not finished.",
        callers: .manager(.delete, .storage),
        parameters: [
            .path("id", .uuid, "The job's id.")
        ],
        answers: [
            .answer(202, "The job in its current state.", .json(.job))
        ],
        errors: [404: "There is no such job (`job-not-found`)."])

    let transfers: TransferStores

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.space
        guard let job = try await transfers.jobs.cancel(context.jobID, scope: space.jobScope) else {
            throw ServiceError(.jobNotFound)
        }
        if job.state == .cancelled { try await transfers.spool.deleteFiles(of: job.id) }
        return .json(ByteBuffer(string: job.json.text), status: .accepted)
    }
}

struct FetchJobResult: Endpoint {
    static let route = Route(
        .get, "/jobs/{id}/result", "fetchJobResult", "Returns the file that an export job has written.",
        callers: .manager(.read, .storage),
        parameters: [
            .path("id", .uuid, "The job's id.")
        ],
        answers: [
            .answer(200, "The file.", .type("application/json"), .type("application/x-ndjson"), .type("text/csv"))
        ],
        errors: [404: "There is no such job (`job-not-found`).", 409: "The job has no result to fetch (`conflict`)."])

    let transfers: TransferStores

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try context.space
        guard let job = try await transfers.jobs.job(context.jobID, scope: space.jobScope) else {
            throw ServiceError(.jobNotFound)
        }
        guard job.kind == ExportCollection.kind, job.state == .done,
            let file = try await transfers.spool.file(of: job.id)
        else {
            throw ServiceError(.conflict, "The job is not a finished export, or its file was deleted.")
        }
        let body = ResponseBody(contentLength: file.sizeInBytes) { [transfers] writer in
            try await transfers.spool.read(file.id) { try await writer.write($0) }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: .download(file.contentType, file.name), body: body)
    }
}

extension ServiceContext {
    /// - Throws: `job-not-found` if the text in the path is not a UUID.
    fileprivate var jobID: UUID {
        get throws { try uuid("id", else: .jobNotFound) }
    }
}

extension Response {
    /// - Throws: `job-not-found` if the environment has no such job.
    static func job(
        _ id: UUID, _ transfers: TransferStores, _ space: AppSchema, status: HTTPResponse.Status = .ok
    ) async throws -> Response {
        guard let job = try await transfers.jobs.job(id, scope: space.jobScope) else {
            throw ServiceError(.jobNotFound)
        }
        return .json(ByteBuffer(string: job.json.text), status: status)
    }
}

extension Job {
    /// The job as shown to the app's server, without its parameters.
    fileprivate var json: JSONValue {
        let progress: [JSONValue.Member] = [
            .init("done", .number(String(progress.done))),
            .init("total", progress.total.map { JSONValue.number(String($0)) } ?? .null),
            .init("message", Self.text(progress.message)),
        ]
        var members: [JSONValue.Member] = [
            .init("id", .string(id.uuidString.lowercased())),
            .init("kind", .string(kind)),
            .init("state", .string(state.rawValue)),
            .init("cancelRequested", .bool(isCancelRequested)),
            .init("attempt", .number(String(attempt))),
            .init("progress", .object(progress)),
        ]
        var result = JSONValue.null
        if let bytes = self.result?.bytes, let value = try? JSONValue(parsing: bytes) { result = value }
        members.append(.init("result", result))
        var error = JSONValue.null
        if let failure {
            error = .object([.init("code", .string(failure.code)), .init("detail", .string(failure.detail))])
        }
        members.append(.init("error", error))
        members.append(.init("created", .string(Timestamps.text(created))))
        members.append(.init("started", Self.text(started.map(Timestamps.text))))
        members.append(.init("finished", Self.text(finished.map(Timestamps.text))))
        return .object(members)
    }

    private static func text(_ text: String?) -> JSONValue {
        text.map { JSONValue.string($0) } ?? .null
    }
}
