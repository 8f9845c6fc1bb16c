import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

struct DescribeSentryAPI: Endpoint {
    static let route = Route(
        .get, "/crash/api/0", "describeSentryAPI",
        "Confirms that the key is valid, and lists its scopes (`sentry-cli info`).", callers: .server,
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(200, "The key is valid.", .json(.object))
        ],
        errors: [403: "This call needs the app's master key (`forbidden`)."])

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.master
        return .json(
            #"{"version":"0","auth":{"scopes":["project:read","project:write","project:releases","event:read","event:write"]},"user":null}"#
        )
    }
}

struct DescribeChunkUpload: Endpoint {
    static let route = Route(
        .get, "/crash/api/0/organizations/{organization}/chunk-upload", "describeChunkUpload",
        "Returns the parameters of uploads: chunk size, limits, hash algorithm and compression.", callers: .server,
        parameters: [
            .sentryOrganization
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(200, "The parameters.", .json(.object))
        ],
        errors: [403: "This call needs the app's master key (`forbidden`)."])

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

/// A chunk that already exists is not stored again. If the body ends early, the chunks received completely are kept.
///
/// Each chunk is a file of the form, named by the SHA-1 of its bytes, and may be compressed with gzip.
struct UploadChunks: Endpoint {
    static let route = Route(
        .post, "/crash/api/0/organizations/{organization}/chunk-upload", "uploadChunks",
        "Stores chunks of files: up to 64 of up to 8 MiB each, 32 MiB in total.", callers: .server,
        parameters: [
            .sentryOrganization
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        body: .contents(.type("multipart/form-data", .map(of: .bytes))),
        answers: [
            .answer(200, "All chunks are stored.", .json(.object))
        ],
        errors: [
            413: "A chunk or the request is too large (`payload-too-large`).",
            403: "This call needs the app's master key (`forbidden`).",
        ])

    let upload: ChunkUpload

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try await upload.receive(request, of: try context.master.appID)
        return .json("{}")
    }
}

/// The `state` of a file is `not_found` (with `missingChunks`), `created`, `assembling`, `ok` (with `dif`) or `error`
/// (with `detail`). Idempotent: repeated calls start nothing twice.
struct AssembleDebugFiles: Endpoint {
    static let route = Route(
        .post, "/crash/api/0/projects/{organization}/{project}/files/difs/assemble", "assembleDebugFiles",
        "Assembles debug files from their chunks in the background, and reports their state.", callers: .server,
        parameters: [
            .sentryOrganization,
            .sentryProject,
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        body: .json(.debugFilesToAssemble),
        answers: [
            .answer(200, "The state of each file, by its SHA-1.", .json(.debugFileStates))
        ],
        errors: [
            403: "This call needs the app's master key (`forbidden`).",
            404: "The key belongs to another project (`app-not-found`).",
        ])

    let assembly: Assembly

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.symbolProject("project")
        let value = try await request.json(upTo: Assembly.maximumRequestSizeInBytes)
        let answers = try await assembly.advance(
            try Assembly.requests(in: value), of: principal.appID, by: "key:" + principal.credentialID)
        return .json(Assembly.json(answers))
    }
}
