import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// `GET /crash/api/0/`: what `sentry-cli info` asks for, and that the key is right. Master key.
struct DescribeSentryAPI: Endpoint {
    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.master
        return .json(#"{"version":"0","auth":{"scopes":["project:read","project:write","project:releases","event:read","event:write"]},"user":null}"#)
    }
}

/// `GET /crash/api/0/organizations/{organization}/chunk-upload/`: how files are to be sent. Any organization is right. Master key.
struct DescribeChunkUpload: Endpoint {
    let settings: SymbolSettings

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.master
        return .json(
            """
            {"url":"/api/0/organizations/martlet/chunk-upload/","chunkSize":\(ChunkUpload.maximumChunkSizeInBytes),\
            "chunksPerRequest":\(ChunkUpload.maximumChunks),"maxFileSize":\(settings.maximumFileSizeInBytes),\
            "maxRequestSize":\(ChunkUpload.maximumRequestSizeInBytes),"concurrency":2,"hashAlgorithm":"sha1","compression":["gzip"],\
            "accept":["debug_files"]}
            """)
    }
}

/// `POST /crash/api/0/organizations/{organization}/chunk-upload/`: pieces of files, as the files of a form that are named by the SHA-1 of their bytes;
/// each packed with gzip or not. Master key.
///
/// A piece that is there is not stored again. When the body is broken, the pieces before the break are kept.
struct UploadChunks: Endpoint {
    let upload: ChunkUpload

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try await upload.receive(request, of: try context.master.appID)
        return .json("{}")
    }
}

/// `POST /crash/api/0/projects/{organization}/{project}/files/difs/assemble/` with `{"<sha1>":{"name","debug_id","chunks":["<sha1>",…]},…}`: has
/// files put together from their pieces, and says how far they are. Master key.
///
/// Answers for each file `state`: `not_found` (with `missingChunks`), `created`, `assembling`, `ok` (with `dif`) or `error` (with `detail`).
/// Asked again it begins nothing twice.
struct AssembleDebugFiles: Endpoint {
    private static let maximumBodySizeInBytes = 4 << 20

    let assembly: Assembly

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.symbolProject("project")
        let value = try await request.json(upTo: Self.maximumBodySizeInBytes)
        let answers = try await assembly.advance(try Assembly.requests(in: value), of: principal.appID, by: "key:" + principal.credentialID)
        return .json("{" + answers.map { JSONValue.quote($0.sha1) + ":" + $0.json }.joined(separator: ",") + "}")
    }
}
