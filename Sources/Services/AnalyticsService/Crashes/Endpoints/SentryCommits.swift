import Hummingbird
import MartletAPI
import MartletHTTP
import NIOCore

/// `GET /crash/api/0/organizations/{organization}/repos/`: an empty list, so that `sentry-cli` sends commits from the
/// local tree. Master key.
struct ListSentryRepositories: Endpoint {
    static let route = Route(
        .get, "/crash/api/0/organizations/{organization}/repos", "listSentryRepositories",
        "Always empty, so that `sentry-cli` sends the commits of its local tree.", callers: .server,
        parameters: [
            .path("organization", .string, "Any.")
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(200, "No repositories.", .json(.array.maxItems(0)))
        ],
        errors: [403: "The key or the rights do not open this."])

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.master
        return .json("[]")
    }
}

/// `GET /crash/api/0/organizations/{organization}/releases/{version}/commits/`: the commits set by `sentry-cli releases
/// set-commits`, newest first. Master key.
struct ListSentryCommits: Endpoint {
    static let route = Route(
        .get, "/crash/api/0/organizations/{organization}/releases/{version}/commits", "listSentryCommits",
        "What `sentry-cli releases set-commits` said, the newest first.", callers: .server,
        parameters: [
            .path("organization", .string, "Any."),
            .path("version", .string, "As reports name the release."),
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
        errors: [403: "The key or the rights do not open this.", 404: "There is no such release."])

    let releases: SentryReleases

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await releases.spaces.space(of: try context.master)
        guard let list = try await releases.commits.list(of: try context.sentryVersion, in: space) else {
            throw HTTPProblem(.notFound, "There is no such release.")
        }
        return .json(ByteBuffer(string: list))
    }
}

/// `GET /crash/api/0/organizations/{organization}/releases/{version}/previous-with-commits/`: the release after which
/// `sentry-cli` starts sending commits. Master key.
struct ReadPreviousSentryRelease: Endpoint {
    static let route = Route(
        .get, "/crash/api/0/organizations/{organization}/releases/{version}/previous-with-commits",
        "readPreviousSentryRelease",
        """
        The newest release before this one that has commits, with the last of them; an empty object where \
        there is none.
        """, callers: .server,
        parameters: [
            .path("organization", .string, "Any."),
            .path("version", .string, "As reports name the release."),
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(
                200, "The release.",
                .json(
                    .object(
                        [
                            "version": .string,
                            "dateCreated": .time,
                            "url": .null,
                            "lastCommit": .object,
                        ])))
        ],
        errors: [403: "The key or the rights do not open this."])

    let releases: SentryReleases

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await releases.spaces.space(of: try context.master)
        return .json(ByteBuffer(string: try await releases.commits.previous(to: try context.sentryVersion, in: space)))
    }
}
