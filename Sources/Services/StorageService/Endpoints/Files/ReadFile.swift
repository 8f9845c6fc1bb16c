import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP
import MartletPostgres

/// `GET /upload/{path…}?thumbnail=&info=`: the file's bytes, whole (200), one range of them (206), or nothing new
/// (304); with `info=true` its record. `GET /upload/{directory…}/?limit=&after=`: a page of what is in a directory.
struct ReadFile: Endpoint {
    static let route = Route(
        .get, "/upload", "listRootFiles", "What is in the root directory.", callers: .client,
        parameters: [
            .query("limit", .integer, "1 to 1000."),
            .query("after", .string, "The next of the page before."),
        ],
        answers: [
            .answer(200, "A page; `next` continues it.")
        ])
    static let readFile = Route(
        .get, "/upload/**", "readFile", "A file, a range of it, its thumbnail or record; or a page of a directory.",
        callers: .client,
        parameters: [
            .query("thumbnail", .string, "A declared size."),
            .query("info", .boolean, "The record instead of the bytes."),
            .query("limit", .integer, "1 to 1000."),
            .query("after", .string, "The next of the page before."),
            .header("Range", .string, "One range of bytes."),
            .header("If-Match", .string, "Entity tags."),
            .header("If-None-Match", .string, "Entity tags."),
        ],
        answers: [
            .answer(200, "The file, or a page."),
            .answer(206, "One range."),
            .answer(304, "Not modified."),
        ],
        errors: [412: "If-Match is not met.", 416: "The range is behind the end."])

    let files: FileStore
    let thumbnails: ThumbnailStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let target = try request.fileTarget()
        let scope = try await context.fileScope(rights)
        switch target {
        case .directory(let directory): return try await list(directory, request, scope)
        case .file(let path): return try await read(path, request, scope)
        }
    }

    private func read(_ path: FilePath, _ request: Request, _ scope: FileScope) async throws -> Response {
        if let info = request.uri.queryParameters["info"] {
            guard info == "true" else { throw HTTPProblem(.invalidParameter, "It must be true.", field: "info") }
            return try .record(try await files.describe(path, in: scope))
        }
        guard let file = try await files.find(path, in: scope) else { throw HTTPProblem(.fileNotFound) }
        let found: FileResponse
        if let size = request.uri.queryParameters["thumbnail"] {
            found = try await thumbnails.thumbnail(of: file, size: String(size), in: scope.space)
        } else {
            found = file.response
        }
        return try found.response(to: request, from: thumbnails.settings.backend)
    }

    private func list(_ directory: DirectoryPath, _ request: Request, _ scope: FileScope) async throws -> Response {
        let limit = try request.pageLimit()
        let cursor = request.uri.queryParameters["after"].map(String.init)
        if let cursor { _ = try directory.file(cursor.hasSuffix("/") ? String(cursor.dropLast()) : cursor) }
        let rows = try await files.list(directory, after: cursor, limit: limit, in: scope)
        guard rows.count == limit, let last = rows.last else { return try .page(rows, next: nil) }
        struct Entry: Decodable {
            var name: String
            var isDirectory: Bool?
        }
        let entry = try JSONDecoder().decode(Entry.self, from: Data(try last.decode(0, as: String.self).utf8))
        return try .page(rows, next: entry.name + (entry.isDirectory == true ? "/" : ""))
    }
}
