import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

struct ReadObjectFile: Endpoint {
    static let route = Route(
        .get, "/storage/{collection}/{id}/files/{key}", "readObjectFile",
        "Returns a file that a field of an object names, a range of it or its thumbnail.",
        callers: .clientOrStaff([.read], .storage),
        parameters: [
            .collection,
            .path("id", .objectID),
            .path("key", .string, "The name of the field, whose value is a File or contains Files."),
            .query("path", .string, "The path of the file, if the field names several; the first one by default."),
            .query("thumbnail", .string, "Returns the thumbnail of this size instead of the file."),
        ] + RouteParameter.fileVersion,
        details: """
            The caller must be able to read the field. The file must be bound to the field (`changeFile`), or the caller \
            must be among its readers.
            """,
        answers: [
            .answer(200, "The contents of the file or thumbnail."),
            .answer(206, "The requested range."),
            .answer(304, "The client already has this version (`If-None-Match`)."),
        ],
        errors: [
            404: "There is no such file, or the caller may not read it or the field (`file-not-found`).",
            410: "The file was refused (`file-refused`).",
            412: "The entity tag does not match `If-Match` (`precondition-failed`).",
            416: "The range begins after the end of the file (`range-not-satisfiable`).",
            423: "The file is being checked (`file-scanning`).",
        ])

    let files: ObjectFiles
    let thumbnails: ThumbnailStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (scope, id) = (try await context.scope(rights, for: [.get]), try context.objectID)
        let path = try request.uri.queryParameters["path"].map { try FilePath(String($0)) }
        let fileScope = FileScope(scope.space, scope.rights, of: try context.principal)
        guard let field = ObjectField(id, key: context.component("key")),
            let file = try await files.find(path, in: field, of: scope, fileScope)
        else { throw ServiceError(.fileNotFound) }
        return try await thumbnails.response(to: request, with: file, in: scope.space)
    }
}
