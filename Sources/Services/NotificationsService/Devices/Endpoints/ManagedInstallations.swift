import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `GET /notifications/installations`: a page ordered by id, with the parameters of `InstallationFilter`, `limit` and
/// `cursor`.
struct ListInstallations: Endpoint {
    static let route = Route(
        .get, "/notifications/installations", "listInstallations", "Installations in the order of their ids.",
        callers: .manager(.read, .notifications),
        parameters: [
            .query("user"),
            .query("channel"),
            .query("appVersion"),
            .query("platform", .oneOf("ios", "macos", "watchos", "tvos", "visionos", "android", "web")),
            .query("service", .oneOf("apns", "fcm", "webpush")),
            .query("sandbox", .boolean),
            .query("hasToken", .boolean),
            .query("seenFrom", .time),
            .query("seenTo", .time),
            .query("limit", .integer.range(1, 500).defaulting(to: 100)),
            .query("cursor", .uuid),
        ],
        answers: [
            .answer(
                200, "A page.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .installation),
                            "next": .string.described("The `cursor` of the next page."),
                        ])))
        ])

    let spaces: Spaces
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, spaces)
        let limit = try request.number("limit", default: 100, in: 1...500)
        let page = try await store.list(
            InstallationFilter(request), in: space, after: try request.id("cursor"), limit: limit)
        return .page(page.map(\.json.text), next: page.count == limit ? page.last?.id.uuidString.lowercased() : nil)
    }
}

/// `GET /notifications/installations/counts` with the parameters of `InstallationFilter`.
struct CountInstallations: Endpoint {
    static let route = Route(
        .get, "/notifications/installations/counts", "countInstallations", "How many there are.",
        callers: .manager(.read, .notifications),
        parameters: [
            .query("user"),
            .query("channel"),
            .query("appVersion"),
            .query("platform", .oneOf("ios", "macos", "watchos", "tvos", "visionos", "android", "web")),
            .query("service", .oneOf("apns", "fcm", "webpush")),
            .query("sandbox", .boolean),
            .query("hasToken", .boolean),
            .query("seenFrom", .time),
            .query("seenTo", .time),
        ],
        answers: [
            .answer(
                200, "By platform, service and world.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(
                                of: .object(
                                    [
                                        "platform": .string,
                                        "service": .string,
                                        "sandbox": .boolean,
                                        "installations": .integer,
                                        "withToken": .integer,
                                        "users": .integer,
                                    ])),
                        ])))
        ])

    let spaces: Spaces
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, spaces)
        return try .list(try await store.count(InstallationFilter(request), in: space))
    }
}

/// `GET /notifications/installations/{id}`
struct ReadManagedInstallation: Endpoint {
    static let route = Route(
        .get, "/notifications/installations/{id}", "readManagedInstallation", "An installation, for its team.",
        callers: .manager(.read, .notifications),
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(200, "The installation.", .json(.installation))
        ],
        errors: [404: "There is no such installation (`installation-not-found`)."])

    let spaces: Spaces
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, spaces)
        guard let installation = try await store.read(try context.installationID, in: space.id) else {
            throw HTTPProblem(.installationNotFound)
        }
        return .json(installation.json.text)
    }
}

/// `DELETE /notifications/installations/{id}`: 204. The app can register the installation again.
struct DeleteManagedInstallation: Endpoint {
    static let route = Route(
        .delete, "/notifications/installations/{id}", "deleteManagedInstallation",
        "Removes it, until its app says anything again.", callers: .manager(.delete, .notifications),
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(204, "It is gone.")
        ],
        errors: [404: "There is no such installation (`installation-not-found`)."])

    let spaces: Spaces
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .delete, spaces)
        guard try await store.delete(try context.installationID, in: space.id) else {
            throw HTTPProblem(.installationNotFound)
        }
        return Response(status: .noContent)
    }
}
