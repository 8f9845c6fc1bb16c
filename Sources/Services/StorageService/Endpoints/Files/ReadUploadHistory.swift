import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP
import MartletPostgres

/// `GET /upload-history/{path…}?limit=&before=`: uploads to a file, or below a directory (with a slash at its end),
/// newest first.
///
/// Those that the asker might read; also of files that are gone.
struct ReadUploadHistory: Endpoint {
    static let route = Route(
        .get, "/upload-history", "readHistory", "All uploads, newest first.", callers: .client,
        parameters: [
            .query("limit", .integer, "1 to 1000."),
            .query("before", .integer, "The next of the page before."),
        ],
        answers: [
            .answer(200, "A page; `next` continues it.")
        ])
    static let readFileHistory = route.at(
        "/upload-history/**", "readFileHistory", "Uploads to a file, or below a directory.")

    let files: FileStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (target, limit) = (try request.fileTarget(), try request.pageLimit())
        let before = try request.uri.queryParameters["before"].map { text in
            guard let id = Int(text) else {
                throw HTTPProblem(.invalidParameter, "It is the next of the page before.", field: "before")
            }
            return id
        }
        let rows = try await files.history(
            of: target, before: before, limit: limit, in: try await context.fileScope(rights))
        guard rows.count == limit, let last = rows.last else { return try .page(rows, next: nil) }
        struct Entry: Decodable {
            var id: Int
        }
        let entry = try JSONDecoder().decode(Entry.self, from: Data(try last.decode(0, as: String.self).utf8))
        return try .page(rows, next: String(entry.id))
    }
}
