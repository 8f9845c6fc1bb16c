import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres

struct ListDebugFiles: Endpoint {
    static let route = Route(
        .get, "/crashes/symbols", "listDebugFiles", "Lists the app's debug files, newest first.",
        callers: .manager(.read, .crashes),
        parameters: [
            .query("debugId", .string, "Only files with a part that has this debug id."),
            .query("after", .string, "`next` from the previous page."),
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100)),
        ],
        answers: [
            .answer(
                200, "A page of debug files.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .debugFile),
                            "next": .string,
                        ])))
        ],
        errors: [403: "The caller has no right to read crashes (`forbidden`)."])

    let files: SymbolFileStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .read, .crashes)
        let limit = try context.integer("limit")
        let after = try request.id("after")
        let found = try await files.list(
            of: try context.symbolAppID, debugID: try request.debugID("debugId"), after: after, limit: limit + 1)
        let page = found.prefix(limit)
        return .page(page.map(\.json), next: found.count > limit ? page.last?.id.uuidString.lowercased() : nil)
    }
}

struct ReadDebugFile: Endpoint {
    static let route = Route(
        .get, "/crashes/symbols/{file}", "readDebugFile", "Returns a debug file.", callers: .manager(.read, .crashes),
        parameters: [
            .path("file", .uuid)
        ],
        answers: [
            .answer(200, "The debug file.", .json(.debugFile))
        ],
        errors: [
            403: "The caller has no right to read crashes (`forbidden`).",
            404: "The app has no such debug file (`debug-file-not-found`).",
        ])

    let files: SymbolFileStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .read, .crashes)
        guard let json = try await files.read(try context.debugFileID, of: try context.symbolAppID) else {
            throw ServiceError(.debugFileNotFound)
        }
        return .json(json)
    }
}

struct DeleteDebugFile: Endpoint {
    static let route = Route(
        .delete, "/crashes/symbols/{file}", "deleteDebugFile",
        "Deletes a debug file; reports keep the lines that it has resolved.", callers: .manager(.delete, .crashes),
        parameters: [
            .path("file", .uuid)
        ],
        answers: [
            .answer(204, "The debug file is deleted.")
        ],
        errors: [
            403: "The caller has no right to delete crashes (`forbidden`).",
            404: "The app has no such debug file (`debug-file-not-found`).",
        ])

    let files: SymbolFileStore
    let backend: any FileBackend

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .delete, .crashes)
        let (isFound, blob) = try await files.delete(try context.debugFileID, of: try context.symbolAppID)
        guard isFound else { throw ServiceError(.debugFileNotFound) }
        // If this fails, the blob is orphaned and the sweep removes it.
        if let blob { try? await backend.remove(blob) }
        return Response(status: .noContent)
    }
}

struct ListMissingSymbols: Endpoint {
    static let route = Route(
        .get, "/crashes/symbols/missing", "listMissingSymbols",
        "Lists the debug ids that the environment's reports are missing, by number of reports.",
        callers: .manager(.read, .crashes),
        parameters: [
            .query("limit", .integer.range(1, 1_000).defaulting(to: 100))
        ],
        answers: [
            .answer(
                200, "The debug ids, each with the number of reports that need it.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "debugId": .string,
                                        "reports": .integer,
                                    ])),
                        ])))
        ],
        errors: [403: "The caller has no right to read crashes (`forbidden`)."])

    let awaited: AwaitedSymbols
    let spaces: Spaces

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .read, .crashes)
        let limit = try context.integer("limit")
        return .page(try await awaited.list(in: try await spaces.space(of: try context.principal), limit: limit))
    }
}
