import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// As `UploadChunks`, for the dashboard and scripts.
struct UploadSymbolChunks: Endpoint {
    static let route = Route(
        .post, "/crashes/symbols/chunks", "uploadSymbolChunks",
        "Stores chunks of debug files: up to 64 of up to 8 MiB each, 32 MiB in total.",
        callers: .manager(.create, .crashes),
        details: """
            Each part of the form has the SHA-1 of its chunk as file name, in hexadecimal digits. A chunk may be \
            compressed with gzip. Chunks wait six hours to be assembled.
            """,
        body: .contents(.type("multipart/form-data", .map(of: .bytes))),
        answers: [
            .answer(204, "All chunks are stored.")
        ],
        errors: [
            413: "A chunk or the request is too large (`payload-too-large`)."
        ])

    let upload: ChunkUpload

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .create, .crashes)
        try await upload.receive(request, of: try context.symbolAppID)
        return Response(status: .noContent)
    }
}

/// As `AssembleDebugFiles`, for the dashboard and scripts.
struct AssembleSymbolFiles: Endpoint {
    static let route = Route(
        .post, "/crashes/symbols/assemble", "assembleSymbolFiles",
        "Assembles debug files from their chunks in the background, and reports their state.",
        callers: .manager(.create, .crashes),
        details: """
            The state of a file is `not_found` (with `missingChunks`), `created`, `assembling`, `ok` or `error` (with \
            `detail`). Repeat the call until it is one of the last two.
            """,
        body: .json(.debugFilesToAssemble),
        answers: [
            .answer(200, "The state of each file, by its SHA-1.", .json(.debugFileStates))
        ])

    let assembly: Assembly

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let author = try context.author(may: .create, .crashes)
        let value = try await request.json(upTo: Assembly.maximumRequestSizeInBytes)
        let answers = try await assembly.advance(
            try Assembly.requests(in: value), of: try context.symbolAppID, by: author.text)
        return .json(Assembly.json(answers))
    }
}
