import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct ReadFile: Endpoint {
    static let route = Route(
        .get, "/upload", "listRootFiles", "Lists the files and directories in the root directory.",
        callers: .clientOrStaff([.read], .storage),
        parameters: [
            .query("limit", .integer, "The maximum number of entries, from 1 to 1,000; 100 by default."),
            .query("after", .string, "The `next` of the previous page."),
        ],
        answers: [
            .answer(200, "A page of entries. `next` is the cursor of the following page, or null.")
        ])
    static let readFile = Route(
        .get, "/upload/**", "readFile",
        "Returns a file, a range of it, its thumbnail or its record, or lists a directory (a path with a final slash).",
        callers: .clientOrStaff([.read], .storage),
        parameters: [
            .query("thumbnail", .string, "Returns the thumbnail of this size instead of the file."),
            .query("info", .boolean, "If `true`, returns the file's record instead of its contents."),
            .query("limit", .integer, "The maximum number of entries, from 1 to 1,000; 100 by default."),
            .query("after", .string, "The `next` of the previous page."),
        ] + RouteParameter.fileVersion,
        answers: [
            .answer(200, "The contents or the record of the file; or a page of entries with the cursor `next`."),
            .answer(206, "The requested range."),
            .answer(304, "The client already has this version (`If-None-Match`)."),
        ],
        errors: [
            410: "The file was refused (`file-refused`).",
            412: "The entity tag does not match `If-Match` (`precondition-failed`).",
            416: "The range begins after the end of the file (`range-not-satisfiable`).",
            423: "The file is being checked (`file-scanning`).",
        ])

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
            guard info == "true" else {
                throw ServiceError.unexpectedParameter("info", expected: "true", found: info)
            }
            return try .record(try await files.describe(path, in: scope))
        }
        guard let file = try await files.find(path, in: scope) else { throw ServiceError(.fileNotFound) }
        return try await thumbnails.response(to: request, with: file, in: scope.space)
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
