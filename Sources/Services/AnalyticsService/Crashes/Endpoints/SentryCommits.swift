import Hummingbird
import MartletAPI
import MartletHTTP
import NIOCore

/// `GET /crash/api/0/organizations/{organization}/repos/`: an empty list, so that `sentry-cli` sends commits of the local tree. Master key.
struct ListSentryRepositories: Endpoint {
    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.master
        return .json("[]")
    }
}

/// `GET /crash/api/0/organizations/{organization}/releases/{version}/commits/`: what `sentry-cli releases set-commits` said, the newest first.
/// Master key.
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

/// `GET /crash/api/0/organizations/{organization}/releases/{version}/previous-with-commits/`: from where on `sentry-cli` sends commits. Master key.
struct ReadPreviousSentryRelease: Endpoint {
    let releases: SentryReleases

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await releases.spaces.space(of: try context.master)
        return .json(ByteBuffer(string: try await releases.commits.previous(to: try context.sentryVersion, in: space)))
    }
}
