import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Includes the uploads of deleted files. Shows only uploads that the caller may read.
struct ReadUploadHistory: Endpoint {
    static let route = Route(
        .get, "/upload-history", "readHistory", "Lists the uploads to all files, newest first.",
        callers: .clientOrStaff([.read], .storage),
        parameters: [
            .query("limit", .integer, "The maximum number of uploads, from 1 to 1,000; 100 by default."),
            .query("before", .integer, "The `next` of the previous page."),
        ],
        answers: [
            .answer(200, "A page of uploads. `next` is the cursor of the following page, or null.")
        ])
    static let readFileHistory = route.at(
        "/upload-history/**", "readFileHistory",
        "Lists the uploads to a file, or to all files below a directory, newest first.")

    let files: FileStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (target, limit) = (try request.fileTarget(), try request.pageLimit())
        let before = try request.uri.queryParameters["before"].map { text in
            guard let id = Int(text) else {
                throw ServiceError.unexpectedParameter(
                    "before", expected: "the \"next\" of the previous page", found: text)
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
