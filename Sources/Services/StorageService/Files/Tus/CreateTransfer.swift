import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// An upload of 0 bytes is complete at once.
struct CreateTransfer: Endpoint {
    static let route = Route(
        .post, "/files/tus", "createTransfer", "Begins a resumable upload (tus 1.0, extension `creation`).",
        callers: .client,
        parameters: [
            .header("Tus-Resumable", .string, "The protocol version: `1.0.0`.", isRequired: true),
            .header("Upload-Length", .string, "The size of the file in bytes.", isRequired: true),
            .header(
                "Upload-Metadata", .string,
                "`path` or `filename`, and optionally `filetype`, `readers` and `writers`, with values in base64.",
                isRequired: true),
        ],
        body: .contents(
            .type("application/offset+octet-stream", .bytes),
            text: "Ignored: send the contents with `PATCH`.", isRequired: false),
        answers: [
            .answer(201, "The upload has begun. `Location` has its address.")
        ])

    private static let address = HTTPField.Name(HeaderName.address)!

    let uploads: TusUploads
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try Tus.check(request)
        var scope = try await context.fileScope(rights)
        let settings = uploads.receiver.settings
        let size = try Tus.number(Tus.uploadLength, of: request)
        guard size <= settings.maximumSizeInBytes else {
            throw ServiceError(.payloadTooLarge, "A file may have at most \(settings.maximumSizeInBytes) bytes.")
        }
        let metadata = try Tus.metadata(request)
        guard let path = metadata["path"] ?? metadata["filename"] else {
            throw ServiceError(
                .invalidParameter, "Expected a path or a filename, found neither.", field: "Upload-Metadata")
        }
        let declaration = FileReceiver.Declaration(
            path: try FilePath(path), contentType: metadata["filetype"],
            grants: FileGrants(
                readers: try FileGrants.list(metadata["readers"], field: "readers"),
                writers: try FileGrants.list(metadata["writers"], field: "writers")))
        scope = try await scope.passing(rights) { scope in
            try await uploads.store.files.checkWritable(declaration.path, in: scope)
        }
        let now = settings.now()
        let id = try await uploads.store.create(
            declaration, sizeInBytes: size, expires: now.addingTimeInterval(settings.uploadLifetime),
            from: request.headers[Self.address] ?? "", in: scope)
        guard let transfer = try await uploads.store.find(id, at: now, in: scope) else {
            throw ServiceError(.internalError)
        }
        try await uploads.finish(transfer, in: scope)
        var headers = Tus.headers(of: transfer, offset: 0)
        // Relative to `/api/{appKey}/files/tus`, which only the gateway knows in full.
        headers[.location] = "tus/" + id
        return Response(status: .created, headers: headers)
    }
}
