import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletHTTP
import MartletJobs

/// Whose export a route is about.
enum ExportedUser: Sendable {
    /// Whoever is signed in.
    case me
    /// The user in the path, for the app's own server.
    case named

    /// - Throws: `invalid-token`, `forbidden`, `user-not-found`.
    func user(_ context: ServiceContext) throws -> (UUID, UserSpace) {
        switch self {
        case .me:
            return (try context.signedInUser, try context.userSpace)
        case .named:
            // First: who may not ask hears nothing of ids.
            let space = try context.managedUserSpace
            return (try context.userID, space)
        }
    }
}

/// `POST …/export`: begins to gather what every service holds of the user; 202 with the export. Once a day, unless the
/// app's own server asks.
struct StartExport: Endpoint {
    let exports: ExportStore
    let whose: ExportedUser

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (user, space) = try whose.user(context)
        try await request.allowNoBody()
        try await exports.start(of: user, isLimited: whose == .me, in: space)
        guard let export = try await exports.find(of: user, in: space) else { throw HTTPProblem(.userNotFound) }
        var response = Response.json(export)
        response.status = .accepted
        return response
    }
}

/// `GET …/export`: the newest export, and how far it is.
struct ReadExport: Endpoint {
    let exports: ExportStore
    let whose: ExportedUser

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (user, space) = try whose.user(context)
        guard let export = try await exports.find(of: user, in: space) else { throw HTTPProblem(.jobNotFound) }
        return .json(export)
    }
}

/// `GET …/export/content`: the archive, JSON Lines.
struct FetchExport: Endpoint {
    let exports: ExportStore
    let whose: ExportedUser

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (user, space) = try whose.user(context)
        guard let file = try await exports.file(of: user, in: space) else {
            throw HTTPProblem(.conflict, "There is no finished export to fetch.")
        }
        let headers: HTTPFields = [
            .contentType: file.contentType, .contentDisposition: "attachment; filename=\"\(file.name)\"",
            .xContentTypeOptions: "nosniff",
            .cacheControl: "no-store",
        ]
        let body = ResponseBody(contentLength: file.sizeInBytes) { [exports] writer in
            try await exports.spool.read(file.id) { try await writer.write($0) }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: headers, body: body)
    }
}

/// `DELETE …/export`, 204: an export under way ends, a finished one is gone.
struct CancelExport: Endpoint {
    let exports: ExportStore
    let whose: ExportedUser

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (user, space) = try whose.user(context)
        guard try await exports.cancel(of: user, in: space) else { throw HTTPProblem(.jobNotFound) }
        return Response(status: .noContent)
    }
}
