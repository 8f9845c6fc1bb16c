import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres

/// `GET /crashes/symbols?debugId=&after=&limit=`: the app's debug files, newest first; staff and master key.
struct ListDebugFiles: Endpoint {
    let files: SymbolFileStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .read, .crashes)
        try request.allowParameters(["debugId", "after", "limit"])
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
    let files: SymbolFileStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .read, .crashes)
        try request.allowParameters()
        guard let json = try await files.read(try context.debugFileID, of: try context.symbolAppID) else {
            throw HTTPProblem(.debugFileNotFound)
        }
        return .json(json)
    }
}

/// `DELETE /crashes/symbols/{file}`: deletes a debug file; reports keep their resolved lines. Staff and master key.
struct DeleteDebugFile: Endpoint {
    let files: SymbolFileStore
    let backend: any FileBackend

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .delete, .crashes)
        try request.allowParameters()
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
    let awaited: AwaitedSymbols
    let spaces: Spaces

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .read, .crashes)
        try request.allowParameters(["limit"])
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
