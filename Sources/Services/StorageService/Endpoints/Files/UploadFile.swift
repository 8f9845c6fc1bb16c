import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /upload/{directory…}/?name=&readers=&writers=` or `PUT /upload/{path…}?readers=&writers=`: stores the body as
/// a file, 201, or as a file's new version, 200.
///
/// Directories need not be made. `POST` to a path without a slash at its end, or with a `multipart/form-data` body,
/// takes the name from there. `If-None-Match: *` and `If-Match` with the file's tag are respected. Answers the file's
/// record. The body is streamed; when it breaks off or is too long, nothing is stored.
struct UploadFile: Endpoint {
    static let route = Route(
        .post, "/upload", "uploadRootFile", "Stores a file in the root directory.", callers: .client,
        parameters: [
            .query("name", .string, "The files name."),
            .query("readers", .string, "Who may read, separated by commas."),
            .query("writers", .string, "Who may write, separated by commas."),
        ],
        body: .contents(.type("*/*", .bytes)),
        answers: [
            .answer(201, "The file is new."),
            .answer(200, "A new version."),
        ])
    static let uploadIntoDirectory = Route(
        .post, "/upload/**", "uploadIntoDirectory",
        "Stores a file in a directory; the body is the file, or multipart/form-data with one.", callers: .client,
        parameters: [
            .query("name", .string, "The name of the file."),
            .query("readers", .string, "Who may read, separated by commas."),
            .query("writers", .string, "Who may write, separated by commas."),
        ],
        body: .contents(.type("*/*", .bytes)),
        answers: [
            .answer(201, "The file is new."),
            .answer(200, "A new version."),
        ])
    static let uploadFile = Route(
        .put, "/upload/**", "uploadFile", "Stores the body as a file.", callers: .client,
        parameters: [
            .query("readers", .string, "Who may read, separated by commas."),
            .query("writers", .string, "Who may write, separated by commas."),
            .header("If-Match", .string, "Entity tags."),
            .header("If-None-Match", .string, "*"),
        ],
        body: .contents(.type("*/*", .bytes)),
        answers: [
            .answer(201, "The file is new."),
            .answer(200, "A new version."),
        ],
        errors: [
            412: "If-Match or If-None-Match is not met.",
            413: "Too large (`payload-too-large`), or beyond the quota (`file-quota-exceeded`).",
        ])

    let intake: FileIntake
    let rights: RightsStore
    /// For `POST`.
    var takesDirectory: Bool

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (target, grants, condition) = (try request.fileTarget(), try FileGrants(request), try request.fileCondition)
        let scope = try await context.fileScope(rights)
        let isMultipart = takesDirectory && MultipartFile.isMultipart(request)
        let body = try CompleteBody(
            request, limitInBytes: intake.settings.maximumSizeInBytes + (isMultipart ? 64 << 10 : 0))
        let written: FileStore.Written
        if isMultipart {
            let file = try await MultipartFile(request, body)
            let declaration = FileIntake.Declaration(
                path: try path(target, name: name(request) ?? file.fileName), contentType: file.contentType,
                grants: grants,
                condition: condition)
            written = try await intake.take(file, as: declaration, in: scope)
        } else {
            let declaration = FileIntake.Declaration(
                path: try path(target, name: name(request)), contentType: request.headers[.contentType], grants: grants,
                condition: condition)
            written = try await intake.take(body, as: declaration, in: scope)
        }
        var response = try Response.record(written.rows, status: written.isNew ? .created : .ok)
        if written.isNew { response.headers[.location] = try await Self.location(of: response) }
        return response
    }

    private static func location(of record: Response) async throws -> String? {
        let path = try await record.wholeBody().withUnsafeReadableBytes {
            JSONMember.scalar(["path"], of: $0.bindMemory(to: UInt8.self))
        }
        return path.map {
            "/upload/" + $0.components(separatedBy: "/").map(RelativeReference.encoded).joined(separator: "/")
        }
    }

    private func name(_ request: Request) -> String? {
        request.uri.queryParameters["name"].map(String.init)
    }

    private func path(_ target: FileTarget, name: String?) throws -> FilePath {
        switch target {
        case .file(let path):
            guard name == nil || takesDirectory else { throw HTTPProblem(.invalidPath, field: "path") }
            // A file inside of what the path then says is a directory.
            return try name.map { try FilePath(path.text.components(separatedBy: "/") + [$0]) } ?? path
        case .directory(let directory):
            guard takesDirectory else {
                _ = try target.file
                return try directory.file("")
            }
            guard let name else {
                throw HTTPProblem(.invalidParameter, "A file in a directory needs a name.", field: "name")
            }
            return try directory.file(name)
        }
    }
}
