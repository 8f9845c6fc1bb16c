import Hummingbird
import MartletAPI
import MartletHTTP
import NIOCore

/// `GET /crash/api/0/organizations/{organization}/repos/`: an empty list, so that `sentry-cli` sends commits from the
/// local tree. Master key.
struct ListSentryRepositories: Endpoint {
    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.master
        return .json("[]")
    }
}

/// `GET /crash/api/0/organizations/{organization}/releases/{version}/commits/`: the commits set by `sentry-cli releases
/// set-commits`, newest first. Master key.
struct ListSentryCommits: Endpoint {
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
    let releases: SentryReleases

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await releases.spaces.space(of: try context.master)
        return .json(ByteBuffer(string: try await releases.commits.previous(to: try context.sentryVersion, in: space)))
    }
}
