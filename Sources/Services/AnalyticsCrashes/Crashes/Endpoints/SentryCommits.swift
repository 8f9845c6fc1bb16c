import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

struct ListSentryRepositories: Endpoint {
    static let route = Route(
        .get, "/crash/api/0/organizations/{organization}/repos", "listSentryRepositories",
        "Returns no repositories, so that `sentry-cli` sends the commits of its local tree.", callers: .server,
        parameters: [
            .sentryOrganization
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(200, "An empty list.", .json(.array.maxItems(0)))
        ],
        errors: [403: "This call needs the app's master key (`forbidden`)."])

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.master
        return .json("[]")
    }
}

struct ListSentryCommits: Endpoint {
    static let route = Route(
        .get, "/crash/api/0/organizations/{organization}/releases/{version}/commits", "listSentryCommits",
        "Lists the commits of a release, newest first, as set by `sentry-cli releases set-commits`.", callers: .server,
        parameters: [
            .sentryOrganization,
            .release,
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(
                200, "The commits.",
                .json(
                    .array(
                        of: .object(
                            [
                                "id": .string,
                                "message": .string,
                                "dateCreated": .time.nullable,
                                "author": .object,
                                "repository": .object,
                            ]))))
        ],
        errors: [
            403: "This call needs the app's master key (`forbidden`).",
            404: "The app has no such release (`not-found`).",
        ])

    let releases: SentryReleases

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await releases.spaces.space(of: try context.master)
        guard let list = try await releases.commits.list(of: try context.sentryVersion, in: space) else {
            throw ServiceError(.notFound, "There is no such release.")
        }
        return .json(ByteBuffer(string: list))
    }
}

/// Returns the previous release that has commits, so that `sentry-cli` sends only the commits made since that release.
struct ReadPreviousSentryRelease: Endpoint {
    static let route = Route(
        .get, "/crash/api/0/organizations/{organization}/releases/{version}/previous-with-commits",
        "readPreviousSentryRelease",
        "Returns the newest earlier release that has commits, with the last of them.", callers: .server,
        parameters: [
            .sentryOrganization,
            .release,
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(
                200, "The release; an empty object if there is none.",
                .json(
                    .object(
                        [
                            "version": .string,
                            "dateCreated": .time,
                            "url": .null,
                            "lastCommit": .object,
                        ])))
        ],
        errors: [403: "This call needs the app's master key (`forbidden`)."])

    let releases: SentryReleases

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await releases.spaces.space(of: try context.master)
        return .json(ByteBuffer(string: try await releases.commits.previous(to: try context.sentryVersion, in: space)))
    }
}
