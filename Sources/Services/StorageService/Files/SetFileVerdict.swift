import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Also refuses files that could be read until now.
struct SetFileVerdict: Endpoint {
    static let route = Route(
        .put, "/upload-verdict/**", "setFileVerdict",
        "Makes a file that is being checked readable, or refuses a file and deletes its contents.",
        callers: .manager(.update, .storage),
        parameters: [
            .header("If-Match", .string, "The entity tags of the versions that the verdict is about, or `*`.")
        ],
        details: "The record of a refused file stays, with the reason for its owner.",
        body: .json(
            .object(
                [
                    "allow": .boolean,
                    "reason": .string.length(0, FileVerdict.maximumReason).described("Why the file is refused."),
                ], required: ["allow"])),
        answers: [
            .answer(200, "The file's record.")
        ],
        errors: [
            404: "There is no such file (`file-not-found`).",
            410: "The file was refused before (`file-refused`).",
            412: "The file is another version (`precondition-failed`).",
        ])

    let files: FileStore
    let verdicts: FileVerdicts

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (path, precondition) = (try request.fileTarget().file, try request.fileCondition)
        let (principal, space) = (try context.principal, try context.space)
        let body = try await BodyFields(request, ["allow", "reason"])
        let reason = try body.string("reason")
        let length = reason?.unicodeScalars.count ?? 0
        guard let isAllowed = try body.flag("allow") else {
            throw ServiceError(.invalidBody, "This field is required.", field: "allow")
        }
        guard length <= FileVerdict.maximumReason else {
            throw ServiceError(
                .invalidBody, "Expected at most \(FileVerdict.maximumReason) characters, found \(length).",
                field: "reason")
        }
        let condition: PostgresQuery =
            switch precondition {
            case .none, .mustBe(nil): "TRUE"
            case .mustBe(let tags?): "sha256 = ANY (\(tags))"
            case .mustBeNew: "FALSE"
            }
        let rows = try await verdicts.apply(
            FileVerdict(isAllowed: isAllowed, reason: reason), to: path, if: condition, in: space)
        guard rows.isEmpty else { return try .record(rows) }
        let scope = FileScope(space, .master, of: principal)
        guard let file = try await files.findInAnyState(path, in: scope) else { throw ServiceError(.fileNotFound) }
        try file.requireReadable(evenWhileScanning: true)
        throw ServiceError(.preconditionFailed)
    }
}
