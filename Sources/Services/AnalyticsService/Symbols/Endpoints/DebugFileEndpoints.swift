import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres

/// `GET /crashes/symbols?debugId=&after=&limit=`: the app's debug files, newest first; staff and master key.
struct ListDebugFiles: Endpoint {
    static let route = Route(
        .get, "/crashes/symbols", "listDebugFiles", "The app's debug files, the newest first.",
        callers: .manager(.read, .crashes),
        parameters: [
            .query("debugId", .string, "Those with a part of this debug id."),
            .query("after", .string, "The `next` of the page before."),
            .query("limit", .integer, "1 to 1000, 100 if nothing is said."),
        ],
        answers: [
            .answer(
                200, "Done.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .debugFile),
                            "next": .string,
                        ])))
        ],
        errors: [403: "The key or the rights do not open this."])

    let files: SymbolFileStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .read, .crashes)
        let limit = try request.number("limit", default: 100, in: 1...1_000)
        let after = try request.id("after")
        let found = try await files.list(
            of: try context.symbolAppID, debugID: try request.debugID("debugId"), after: after, limit: limit + 1)
        let page = found.prefix(limit)
        return .page(page.map(\.json), next: found.count > limit ? page.last?.id.uuidString.lowercased() : nil)
    }
}

/// `GET /crashes/symbols/{file}`: a debug file; staff and master key.
struct ReadDebugFile: Endpoint {
    static let route = Route(
        .get, "/crashes/symbols/{file}", "readDebugFile", "One debug file.", callers: .manager(.read, .crashes),
        parameters: [
            .path("file", .uuid)
        ],
        answers: [
            .answer(200, "Done.", .json(.debugFile))
        ],
        errors: [403: "The key or the rights do not open this.", 404: "There is none (`debug-file-not-found`)."])

    let files: SymbolFileStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .read, .crashes)
        guard let json = try await files.read(try context.debugFileID, of: try context.symbolAppID) else {
            throw HTTPProblem(.debugFileNotFound)
        }
        return .json(json)
    }
}

/// `DELETE /crashes/symbols/{file}`: deletes a debug file; reports keep their resolved lines. Staff and master key.
struct DeleteDebugFile: Endpoint {
    static let route = Route(
        .delete, "/crashes/symbols/{file}", "deleteDebugFile",
        "Removes a debug file. Reports keep the lines they have.", callers: .manager(.delete, .crashes),
        parameters: [
            .path("file", .uuid)
        ],
        answers: [
            .answer(204, "Gone.")
        ],
        errors: [403: "The key or the rights do not open this.", 404: "There is none (`debug-file-not-found`)."])

    let files: SymbolFileStore
    let backend: any FileBackend

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .delete, .crashes)
        let (isFound, blob) = try await files.delete(try context.debugFileID, of: try context.symbolAppID)
        guard isFound else { throw HTTPProblem(.debugFileNotFound) }
        // If this fails, the blob is orphaned and the sweep removes it.
        if let blob { try? await backend.remove(blob) }
        return Response(status: .noContent)
    }
}

/// `GET /crashes/symbols/missing?limit=`: the debug ids that reports wait for, those of the most reports first; staff
/// and master key.
struct ListMissingSymbols: Endpoint {
    static let route = Route(
        .get, "/crashes/symbols/missing", "listMissingSymbols",
        """
        The debug ids that crash reports of this environment wait for, those with the most reports first.
        """, callers: .manager(.read, .crashes),
        parameters: [
            .query("limit", .integer, "1 to 1000, 100 if nothing is said.")
        ],
        answers: [
            .answer(
                200, "Done.",
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
        errors: [403: "The key or the rights do not open this."])

    let awaited: AwaitedSymbols
    let spaces: Spaces

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .read, .crashes)
        let limit = try request.number("limit", default: 100, in: 1...1_000)
        return .page(try await awaited.list(in: try await spaces.space(of: try context.principal), limit: limit))
    }
}

extension ServiceContext {
    /// - Throws: `app-not-found` if the principal names no app.
    fileprivate var symbolAppID: String {
        get throws {
            let principal = try principal
            guard !principal.appID.isEmpty else { throw HTTPProblem(.appNotFound) }
            return principal.appID
        }
    }
}
