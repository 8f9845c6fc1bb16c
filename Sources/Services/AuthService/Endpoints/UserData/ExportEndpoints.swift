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
    static let route = Route(
        .post, "/auth/me/export", "startMyExport", "Gathers what every service holds of the user.", callers: .user,
        details: "One a day; 409 while one is under way.",
        answers: [
            .answer(202, "It has begun.", .json(.userExport))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])
    static let startUserExport = Route(
        .post, "/auth/users/{id}/export", "startUserExport", "Gathers what every service holds of the user.",
        callers: .server,
        parameters: [
            .path("id", .uuid)
        ],
        details: "Needs the master key.",
        answers: [
            .answer(202, "It has begun.", .json(.userExport))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

    let exports: ExportStore
    let whose: ExportedUser

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (user, space) = try whose.user(context)
        try await exports.start(of: user, isLimited: whose == .me, in: space)
        guard let export = try await exports.find(of: user, in: space) else { throw HTTPProblem(.userNotFound) }
        var response = Response.json(export)
        response.status = .accepted
        return response
    }
}

/// `GET …/export`: the newest export, and how far it is.
struct ReadExport: Endpoint {
    static let route = Route(
        .get, "/auth/me/export", "readMyExport", "The newest export, and how far it is.", callers: .user,
        details: "404 where there is none.",
        answers: [
            .answer(200, "Done.", .json(.userExport))
        ])
    static let readUserExport = Route(
        .get, "/auth/users/{id}/export", "readUserExport", "The newest export, and how far it is.", callers: .server,
        parameters: [
            .path("id", .uuid)
        ],
        details: "Needs the master key.",
        answers: [
            .answer(200, "Done.", .json(.userExport))
        ])

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
    static let route = Route(
        .get, "/auth/me/export/content", "fetchMyExport", "The file of a finished export.", callers: .user,
        details: "409 while there is none that is finished.",
        answers: [
            .answer(200, "A line for each thing: `{service,kind,data}`.", .type("application/jsonl", .string))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])
    static let fetchUserExport = Route(
        .get, "/auth/users/{id}/export/content", "fetchUserExport", "The file of a finished export.", callers: .server,
        parameters: [
            .path("id", .uuid)
        ],
        details: "Needs the master key.",
        answers: [
            .answer(200, "A line for each thing: `{service,kind,data}`.", .type("application/jsonl", .string))
        ],
        errors: [409: "The name is taken, or a unique index forbids it (`conflict`)."])

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
    static let route = Route(
        .delete, "/auth/me/export", "cancelMyExport", "Ends an export that is under way, or takes a finished one away.",
        callers: .user,
        details: "404 where there is none.",
        answers: [
            .answer(204, "Done.")
        ])
    static let cancelUserExport = Route(
        .delete, "/auth/users/{id}/export", "cancelUserExport",
        "Ends an export that is under way, or takes a finished one away.", callers: .server,
        parameters: [
            .path("id", .uuid)
        ],
        details: "Needs the master key.",
        answers: [
            .answer(204, "Done.")
        ])

    let exports: ExportStore
    let whose: ExportedUser

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (user, space) = try whose.user(context)
        guard try await exports.cancel(of: user, in: space) else { throw HTTPProblem(.jobNotFound) }
        return Response(status: .noContent)
    }
}
