import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletJobs

/// The user whose data a route exports.
enum ExportedUser: Sendable {
    /// The signed-in user.
    case me
    /// The user in the path.
    case named

    /// - Throws: `invalid-token`, `user-not-found`.
    func user(_ context: ServiceContext) throws -> (UUID, AppSpace) {
        (self == .me ? try context.signedInUser : try context.userID, try context.userSpace)
    }

    /// Checks that staff may read all that an export contains: it has the user's data of every service.
    ///
    /// - Throws: `staff-forbidden`.
    func checkAreas(_ context: ServiceContext) throws {
        guard self == .named else { return }
        for area in [StaffArea.storage, .config, .analytics, .crashes, .tickets, .notifications] {
            _ = try context.author(may: .read, area)
        }
    }
}

struct StartExport: Endpoint {
    static let route = Route(
        .post, "/auth/me/export", "startMyExport",
        "Starts an export of everything that is stored about the signed-in user.", callers: .user,
        details: "A user can start one export a day, not counting failed ones.",
        answers: [
            .answer(202, "The export has started.", .json(.userExport))
        ],
        errors: [409: "An export is already in progress (`conflict`)."])
    static let startUserExport = Route(
        .post, "/auth/users/{id}/export", "startUserExport",
        "Starts an export of everything that is stored about a user.",
        callers: .manager(.read, .users),
        parameters: [
            .path("id", .uuid)
        ],
        details: "Staff need the right to read in every area that the export contains.",
        answers: [
            .answer(202, "The export has started.", .json(.userExport))
        ],
        errors: [
            404: "The app has no such user (`user-not-found`).", 409: "An export is already in progress (`conflict`).",
        ])

    let exports: ExportStore
    let exportedUser: ExportedUser

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (user, space) = try exportedUser.user(context)
        try exportedUser.checkAreas(context)
        try await exports.start(of: user, isLimited: exportedUser == .me, in: space)
        guard let export = try await exports.find(of: user, in: space) else { throw ServiceError(.userNotFound) }
        var response = Response.json(export)
        response.status = .accepted
        return response
    }
}

struct ReadExport: Endpoint {
    static let route = Route(
        .get, "/auth/me/export", "readMyExport", "Returns the state of the signed-in user's latest export.",
        callers: .user,
        answers: [
            .answer(200, "The export.", .json(.userExport))
        ],
        errors: [404: "The user has no export (`job-not-found`)."])
    static let readUserExport = Route(
        .get, "/auth/users/{id}/export", "readUserExport", "Returns the state of a user's latest export.",
        callers: .manager(.read, .users),
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(200, "The export.", .json(.userExport))
        ],
        errors: [404: "The user has no export (`job-not-found`)."])

    let exports: ExportStore
    let exportedUser: ExportedUser

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (user, space) = try exportedUser.user(context)
        guard let export = try await exports.find(of: user, in: space) else { throw ServiceError(.jobNotFound) }
        return .json(export)
    }
}

struct FetchExport: Endpoint {
    static let route = Route(
        .get, "/auth/me/export/content", "fetchMyExport", "Downloads the signed-in user's finished export.",
        callers: .user,
        details: "A finished export can be downloaded for seven days.",
        answers: [
            .answer(
                200, "JSON Lines, one for each exported item: `{service,kind,data}`.",
                .type("application/jsonl", .string))
        ],
        errors: [409: "The user has no finished export (`conflict`)."])
    static let fetchUserExport = Route(
        .get, "/auth/users/{id}/export/content", "fetchUserExport", "Downloads a user's finished export.",
        callers: .manager(.read, .users),
        parameters: [
            .path("id", .uuid)
        ],
        details: "A finished export can be downloaded for seven days.",
        answers: [
            .answer(
                200, "JSON Lines, one for each exported item: `{service,kind,data}`.",
                .type("application/jsonl", .string))
        ],
        errors: [409: "The user has no finished export (`conflict`)."])

    let exports: ExportStore
    let exportedUser: ExportedUser

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (user, space) = try exportedUser.user(context)
        try exportedUser.checkAreas(context)
        guard let file = try await exports.file(of: user, in: space) else {
            throw ServiceError(.conflict, "The user has no finished export.")
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

struct CancelExport: Endpoint {
    static let route = Route(
        .delete, "/auth/me/export", "cancelMyExport", "Cancels the signed-in user's export, or deletes a finished one.",
        callers: .user,
        answers: [
            .answer(204, "The export and its file are deleted.")
        ],
        errors: [404: "The user has no export (`job-not-found`)."])
    static let cancelUserExport = Route(
        .delete, "/auth/users/{id}/export", "cancelUserExport",
        "Cancels a user's export, or deletes a finished one.", callers: .manager(.delete, .users),
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(204, "The export and its file are deleted.")
        ],
        errors: [404: "The user has no export (`job-not-found`)."])

    let exports: ExportStore
    let exportedUser: ExportedUser

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (user, space) = try exportedUser.user(context)
        guard try await exports.cancel(of: user, in: space) else { throw ServiceError(.jobNotFound) }
        return Response(status: .noContent)
    }
}
