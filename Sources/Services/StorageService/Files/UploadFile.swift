import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Directories exist as soon as they contain a file. The body is streamed; if the connection breaks or the body is too
/// long, nothing is stored.
struct UploadFile: Endpoint {
    static let route = Route(
        .post, "/upload", "uploadRootFile", "Stores a file in the root directory.",
        callers: .clientOrStaff([.create, .update], .storage),
        parameters: [
            .query("name", .string, "The file's name. Not needed if a multipart body has it."),
            .query("readers", .string, "The grantees that may read the file, separated by commas."),
            .query("writers", .string, "The grantees that may write the file, separated by commas."),
        ],
        body: .contents(.type("*/*", .bytes)),
        answers: [
            .answer(201, "The record of the new file.", .json(.fileRecord)),
            .answer(200, "The record of the file's new version.", .json(.fileRecord)),
        ])
    static let uploadIntoDirectory = Route(
        .post, "/upload/**", "uploadIntoDirectory",
        "Stores a file in a directory. The body is the file, or `multipart/form-data` with one file.",
        callers: .clientOrStaff([.create, .update], .storage),
        parameters: [
            .query("name", .string, "The file's name, if it is neither in the path nor in a multipart body."),
            .query("readers", .string, "The grantees that may read the file, separated by commas."),
            .query("writers", .string, "The grantees that may write the file, separated by commas."),
        ],
        body: .contents(.type("*/*", .bytes)),
        answers: [
            .answer(201, "The record of the new file.", .json(.fileRecord)),
            .answer(200, "The record of the file's new version.", .json(.fileRecord)),
        ])
    static let uploadFile = Route(
        .put, "/upload/**", "uploadFile", "Stores the body as a file at this path.",
        callers: .clientOrStaff([.create, .update], .storage),
        parameters: [
            .query("readers", .string, "The grantees that may read the file, separated by commas."),
            .query("writers", .string, "The grantees that may write the file, separated by commas."),
            .header("If-Match", .string, "The entity tags of the versions that may be replaced, or `*`."),
            .header("If-None-Match", .string, "If `*`, refuses to replace an existing file."),
        ],
        body: .contents(.type("*/*", .bytes)),
        answers: [
            .answer(201, "The record of the new file.", .json(.fileRecord)),
            .answer(200, "The record of the file's new version.", .json(.fileRecord)),
        ],
        errors: [
            412: "The stored file does not fulfil `If-Match` or `If-None-Match` (`precondition-failed`).",
            413: "The file is too large (`payload-too-large`), or exceeds the app's quota (`file-quota-exceeded`).",
        ])

    let receiver: FileReceiver
    let rights: RightsStore
    /// Whether the path may be a directory, as with `POST`.
    var acceptsDirectory: Bool

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (target, grants, condition) = (try request.fileTarget(), try FileGrants(request), try request.fileCondition)
        let scope = try await context.fileScope(rights)
        let isMultipart = acceptsDirectory && MultipartFile.isMultipart(request)
        let body = try CompleteBody(
            request, limitInBytes: receiver.settings.maximumSizeInBytes + (isMultipart ? 64 << 10 : 0))
        let written: FileStore.Written
        if isMultipart {
            let file = try await MultipartFile(request, body)
            let declaration = FileReceiver.Declaration(
                path: try path(target, name: name(request) ?? file.fileName), contentType: file.contentType,
                grants: grants,
                condition: condition)
            written = try await receiver.receive(file, as: declaration, in: scope)
        } else {
            let declaration = FileReceiver.Declaration(
                path: try path(target, name: name(request)), contentType: request.headers[.contentType], grants: grants,
                condition: condition)
            written = try await receiver.receive(body, as: declaration, in: scope)
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
            guard name == nil || acceptsDirectory else { throw ServiceError(.invalidPath, field: "path") }
            // With a name, the path is a directory even without a slash at its end.
            return try name.map { try FilePath(path.text.components(separatedBy: "/") + [$0]) } ?? path
        case .directory(let directory):
            // Throws, because the target is a directory.
            guard acceptsDirectory else { return try target.file }
            guard let name else {
                throw ServiceError(.invalidParameter, "A file in a directory must have a name.", field: "name")
            }
            return try directory.file(name)
        }
    }
}
