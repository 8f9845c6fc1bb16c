import Hummingbird
import MartletAPI
import MartletHTTP

/// A list that is absent stays as it is. A change of the readers also applies to the file's history.
struct ChangeFile: Endpoint {
    static let route = Route(
        .patch, "/upload/**", "changeFile", "Changes the readers and writers of a file.",
        callers: .clientOrStaff([.update], .storage),
        body: .json(
            .object(
                [
                    "_readers": .array(of: .string),
                    "_writers": .array(of: .string),
                ])),
        answers: [
            .answer(200, "The file's record.")
        ],
        errors: [404: "There is no such file (`file-not-found`)."])

    let files: FileStore
    let rights: RightsStore

    private struct Body: Decodable {
        var _readers: [String]?
        var _writers: [String]?
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let path = try request.fileTarget().file
        let scope = try await context.fileScope(rights)
        let body = try await request.decoded(Body.self)
        let grants = FileGrants(
            readers: try body._readers.map { try Grantee.checked($0, field: "_readers") },
            writers: try body._writers.map { try Grantee.checked($0, field: "_writers") })
        return try .record(try await files.change(path, grants, in: scope))
    }
}
