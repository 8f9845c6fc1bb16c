import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct ListInstallations: Endpoint {
    static let route = Route(
        .get, "/notifications/installations", "listInstallations", "Lists the app's installations, ordered by id.",
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
                200, "A page of installations.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .installation),
                            "next": .string.described("The `cursor` for the next page."),
                        ])))
        ])

    let spaces: Spaces
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, spaces)
        let limit = try context.integer("limit")
        let page = try await store.list(
            InstallationFilter(request), in: space, after: try request.id("cursor"), limit: limit)
        return .page(page.map(\.json.text), next: page.count == limit ? page.last?.id.uuidString.lowercased() : nil)
    }
}

struct CountInstallations: Endpoint {
    static let route = Route(
        .get, "/notifications/installations/counts", "countInstallations",
        "Counts the app's installations, push tokens and users.",
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
                200, "The counts by platform, push service and APNs environment.",
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

struct ReadManagedInstallation: Endpoint {
    static let route = Route(
        .get, "/notifications/installations/{id}", "readManagedInstallation", "Reads an installation of the app.",
        callers: .manager(.read, .notifications),
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(200, "The installation.", .json(.installation))
        ],
        errors: [404: "The app has no such installation (`installation-not-found`)."])

    let spaces: Spaces
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, spaces)
        guard let installation = try await store.read(try context.installationID, in: space.id) else {
            throw ServiceError(.installationNotFound)
        }
        return .json(installation.json.text)
    }
}

struct DeleteManagedInstallation: Endpoint {
    static let route = Route(
        .delete, "/notifications/installations/{id}", "deleteManagedInstallation",
        "Deletes an installation. The app can register it again.", callers: .manager(.delete, .notifications),
        parameters: [
            .path("id", .uuid)
        ],
        answers: [
            .answer(204, "The installation is deleted.")
        ],
        errors: [404: "The app has no such installation (`installation-not-found`)."])

    let spaces: Spaces
    let store: InstallationStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .delete, spaces)
        guard try await store.delete(try context.installationID, in: space.id) else {
            throw ServiceError(.installationNotFound)
        }
        return Response(status: .noContent)
    }
}
