import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Fields that the body omits keep their values. A change of the readers also applies to the file's history.
struct ChangeFile: Endpoint {
    static let route = Route(
        .patch, "/upload/**", "changeFile",
        "Changes the readers and writers of a file, or binds it to a field of an object.",
        callers: .clientOrStaff([.update], .storage),
        details: """
            Whoever may read the field can then read the file by `readObjectFile`. When a file that \
            everyone may read is bound, the caller becomes its only reader, unless `_readers` says otherwise.
            """,
        body: .json(
            .object(
                [
                    "_readers": .array(of: .string),
                    "_writers": .array(of: .string),
                    "_object": .object(
                        ["className": .string, "objectId": .string, "key": .string],
                        required: ["className", "objectId", "key"]
                    ).nullable.described("The field that the file is bound to, or null for none."),
                ])),
        answers: [
            .answer(200, "The file's record.", .json(.fileRecord))
        ],
        errors: [
            404: """
            There is no such file (`file-not-found`), or no such object that the caller may read \
            (`object-not-found`).
            """
        ])

    let files: FileStore
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let path = try request.fileTarget().file
        let scope = try await context.fileScope(rights)
        let body = try await BodyFields(request, ["_readers", "_writers", "_object"])
        let grants = FileGrants(
            readers: try body.strings("_readers").map { try Grantee.checked($0, field: "_readers") },
            writers: try body.strings("_writers").map { try Grantee.checked($0, field: "_writers") })
        var binding: FileBinding?
        if let value = body["_object"] { binding = try await self.binding(value, context) }
        return try .record(try await files.change(path, grants, binding, in: try await scope.refreshed(rights)))
    }

    /// The binding to the field that the body names.
    ///
    /// - Throws: `invalid-body`, `invalid-name`, `invalid-id`, `object-not-found`.
    private func binding(_ value: JSONValue, _ context: ServiceContext) async throws -> FileBinding {
        guard value != .null else { return FileBinding(object: nil) }
        let (collection, field) = try naming("_object") {
            let members = try BodyFields(value, ["className", "objectId", "key"])
            let collection = try CollectionName(members.requiredString("className"))
            let id = try ObjectID(members.requiredString("objectId"))
            let key = try members.requiredString("key")
            guard let field = ObjectField(id, key: key) else {
                throw ServiceError.unexpectedMember("key", expected: "the name of a top-level field", found: key)
            }
            return (collection, field)
        }
        let space = try context.space
        let known = try await rights.rights(of: try context.principal, in: space, to: [collection])
        let scope = QueryScope(space: space, collection: collection, rights: known)
        guard let binding = try await ObjectFiles(files: files).binding(to: field, in: scope) else {
            throw ServiceError(.objectNotFound, field: "_object")
        }
        return binding
    }
}
