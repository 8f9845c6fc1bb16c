import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// `GET /crash/api/0/`: answers `sentry-cli info`, and confirms that the key is valid. Master key.
struct DescribeSentryAPI: Endpoint {
    static let route = Route(
        .get, "/crash/api/0", "describeSentryAPI", "What `sentry-cli info` asks for.", callers: .server,
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(200, "The key is right.", .json(.object))
        ],
        errors: [403: "The key or the rights do not open this."])

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.master
        return .json(
            #"{"version":"0","auth":{"scopes":["project:read","project:write","project:releases","event:read","event:write"]},"user":null}"#
        )
    }
}

/// `GET /crash/api/0/organizations/{organization}/chunk-upload/`: the parameters of uploads. Any organization is
/// accepted. Master key.
struct DescribeChunkUpload: Endpoint {
    static let route = Route(
        .get, "/crash/api/0/organizations/{organization}/chunk-upload", "describeChunkUpload",
        "How files are to be sent: size of pieces, hash, packing.", callers: .server,
        parameters: [
            .path("organization", .string, "Any.")
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(200, "Done.", .json(.object))
        ],
        errors: [403: "The key or the rights do not open this."])

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

/// `POST /crash/api/0/organizations/{organization}/chunk-upload/`: uploads chunks of files as the files of a form,
/// named by the SHA-1 of their bytes; each may be compressed with gzip. Master key.
///
/// A chunk that already exists is not stored again. If the body breaks off, the chunks before the break are kept.
struct UploadChunks: Endpoint {
    static let route = Route(
        .post, "/crash/api/0/organizations/{organization}/chunk-upload", "uploadChunks",
        "Takes pieces of files: up to 64 of up to 8 MiB, 32 MiB in all, each named by its SHA-1.", callers: .server,
        parameters: [
            .path("organization", .string, "Any.")
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        body: .contents(.type("multipart/form-data", .map(of: .bytes))),
        answers: [
            .answer(200, "They are there.", .json(.object))
        ],
        errors: [
            413: "A piece or the request is too large (`payload-too-large`).",
            403: "The key or the rights do not open this.",
        ])

    let upload: ChunkUpload

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try await upload.receive(request, of: try context.master.appID)
        return .json("{}")
    }
}

/// `POST /crash/api/0/projects/{organization}/{project}/files/difs/assemble/` with
/// `{"<sha1>":{"name","debug_id","chunks":["<sha1>",…]},…}`: assembles files from their chunks in the background and
/// returns their state. Master key.
///
/// The `state` of a file is `not_found` (with `missingChunks`), `created`, `assembling`, `ok` (with `dif`) or `error`
/// (with `detail`). Idempotent: repeated calls start nothing twice.
struct AssembleDebugFiles: Endpoint {
    static let route = Route(
        .post, "/crash/api/0/projects/{organization}/{project}/files/difs/assemble", "assembleDebugFiles",
        """
        Puts files together whose pieces are there, in the background, and says how far they are.
        """, callers: .server,
        parameters: [
            .path("organization", .string, "Any."),
            .path("project", .string, "The app's number or id."),
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        body: .json(
            .map(
                of: .object(
                    [
                        "name": .string,
                        "debug_id": .string,
                        "chunks": .array(of: .string),
                    ], required: ["name", "chunks"])
            ).described("By the SHA-1 of the file; up to 500.")),
        answers: [
            .answer(
                200, "How each file stands.",
                .json(
                    .map(
                        of: .object(
                            [
                                "state": .oneOf("not_found", "created", "assembling", "ok", "error"),
                                "missingChunks": .array(of: .string),
                                "detail": .string.nullable,
                                "dif": .object.nullable,
                            ]))))
        ],
        errors: [
            403: "The key or the rights do not open this.", 404: "The project is not the key's (`app-not-found`).",
        ])

    private static let maximumBodySizeInBytes = 4 << 20

    let assembly: Assembly

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.symbolProject("project")
        let value = try await request.json(upTo: Self.maximumBodySizeInBytes)
        let answers = try await assembly.advance(
            try Assembly.requests(in: value), of: principal.appID, by: "key:" + principal.credentialID)
        return .json("{" + answers.map { JSONValue.quote($0.sha1) + ":" + $0.json }.joined(separator: ",") + "}")
    }
}
