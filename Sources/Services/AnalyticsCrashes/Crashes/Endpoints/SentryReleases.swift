import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletSentry
import NIOCore

/// Idempotent: leaves a release that exists as it is, apart from a release date or commits in the body.
struct CreateSentryRelease: Endpoint {
    static let route = Route(
        .post, "/crash/api/0/organizations/{organization}/releases", "createSentryRelease",
        "Creates a release before its first report arrives (`sentry-cli releases new`).", callers: .server,
        parameters: [
            .sentryOrganization
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        body: .json(
            .object(
                [
                    "version": .string.maxLength(250),
                    "projects": .array(of: .types("string", "integer")).described("The app's number or id."),
                    "dateReleased": .time.nullable,
                    "commits": .releaseCommits,
                ], required: ["version"])),
        answers: [
            .answer(201, "The release as stored.", .json(.object))
        ],
        errors: [
            403: "This call needs the app's master key (`forbidden`).",
            404: "The key belongs to another project (`app-not-found`).",
        ])

    let releases: SentryReleases

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.master
        let body = try await request.sentryRelease(of: principal)
        guard let version = body["version"]?.looseText else {
            throw ServiceError(.invalidBody, "This field is required.", field: "version")
        }
        let name = try SentryReleases.name(version, "version")
        var response = Response.json(try await releases.make(name, try SentryReleases.Facts(body), for: principal))
        response.status = .created
        response.headers[.location] =
            request.uri.path + (request.uri.path.hasSuffix("/") ? "" : "/") + RelativeReference.encoded(name.text) + "/"
        return response
    }
}

/// Creates the release if there is none. Replaces all commits of the release with those in the body, if it has any.
struct FinishSentryRelease: Endpoint {
    static let route = Route(
        .put, "/crash/api/0/organizations/{organization}/releases/{version}", "finishSentryRelease",
        "Sets the date or the commits of a release (`sentry-cli releases finalize` and `set-commits`).",
        callers: .server,
        parameters: [
            .sentryOrganization,
            .release,
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        body: .json(
            .object(
                [
                    "projects": .array(of: .types("string", "integer")),
                    "dateReleased": .time.nullable,
                    "commits": .releaseCommits,
                ])),
        answers: [
            .answer(200, "The release as stored.", .json(.object))
        ],
        errors: [
            403: "This call needs the app's master key (`forbidden`).",
            404: "The key belongs to another project (`app-not-found`).",
        ])

    let releases: SentryReleases

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.master
        let body = try await request.sentryRelease(of: principal)
        return .json(try await releases.make(try context.sentryVersion, try SentryReleases.Facts(body), for: principal))
    }
}

struct ReadSentryRelease: Endpoint {
    static let route = Route(
        .get, "/crash/api/0/organizations/{organization}/releases/{version}", "readSentryRelease",
        "Returns a release (`sentry-cli releases info`).", callers: .server,
        parameters: [
            .sentryOrganization,
            .release,
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(200, "The release.", .json(.object))
        ],
        errors: [
            403: "This call needs the app's master key (`forbidden`).",
            404: "The app has no such release (`not-found`).",
        ])

    let releases: SentryReleases

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.master
        guard let json = try await releases.read(try context.sentryVersion, for: principal) else {
            throw ServiceError(.notFound, "There is no such release.")
        }
        return .json(json)
    }
}

extension Request {
    /// - Throws: `invalid-json`; `invalid-body` for unsupported fields; `app-not-found` if a project is not the key's.
    fileprivate func sentryRelease(of principal: Principal) async throws -> JSONValue {
        let value = try await json(upTo: SentryReleases.maximumSizeInBytes)
        guard case .object = value else {
            throw ServiceError(.invalidBody, "Expected a JSON object, found \(value.kind.phrase).")
        }
        if let status = value["status"]?.looseText, status != "open" {
            throw ServiceError(
                .invalidBody, "Martlet does not archive releases, but those without reports can be deleted.",
                field: "status")
        }
        guard !value.hasReferences else {
            throw ServiceError(
                .invalidBody,
                "Martlet does not read repositories: send the commits, as `releases set-commits --local` does.",
                field: "refs")
        }
        for project in value["projects"]?.looseList ?? [] {
            guard let name = project.looseText, name == String(principal.appNumber) || name == principal.appID else {
                throw ServiceError(.appNotFound, "This key belongs to the project \(principal.appNumber).")
            }
        }
        return value
    }
}

extension JSONValue {
    /// Whether the body only names a repository from which the server would have to read the commits.
    fileprivate var hasReferences: Bool { !(self["refs"]?.looseList ?? []).isEmpty }

    /// - Throws: `invalid-body`.
    func date(_ name: String) throws -> Date? {
        guard let value = self[name], value != .null else { return nil }
        guard let date = Date(loose: value), date.timeIntervalSince1970 < 4e9 else {
            throw ServiceError(.invalidBody, "Expected a time such as 2026-11-22T08:48:59Z.", field: name)
        }
        return date
    }
}

extension ServiceContext {
    /// - Throws: `invalid-body`.
    var sentryVersion: ReleaseName {
        get throws { try SentryReleases.name(component("version"), "version") }
    }
}

/// Releases announced by builds, stored with those that reports and sessions name.
struct SentryReleases: Sendable {
    let postgres: PostgresClient
    let spaces: Spaces
    let store: ReleaseStore
    /// Applies the fixes that commit messages announce.
    let fixes: CommitFixes
    let now: @Sendable () -> Date

    /// Enough for 500 commits with the files they change.
    static let maximumSizeInBytes = 8 << 20

    var commits: ReleaseCommitStore { ReleaseCommitStore(postgres: postgres) }

    /// Properties of a release to store; nil leaves a property unchanged.
    struct Facts: Sendable {
        /// The release date.
        var released: Date?
        var commits: [ReleaseCommit]?

        /// - Throws: `invalid-body`.
        init(_ body: JSONValue) throws {
            released = try body.date("dateReleased")
            commits = try ReleaseCommit.list(body)
        }
    }

    /// - Throws: `invalid-body`.
    static func name(_ text: String, _ field: String) throws -> ReleaseName {
        guard (1...250).contains(text.utf8.count),
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw ServiceError(
                .invalidBody, "Expected a release's name of 1 to 250 bytes without control characters.", field: field)
        }
        return ReleaseName(text)
    }

    /// - Throws: `limit-exceeded`.
    func make(_ name: ReleaseName, _ facts: Facts, for principal: Principal) async throws -> String {
        let space = try await spaces.space(of: principal)
        // Another instance may have deleted releases that this one has cached.
        store.forget()
        let known = try await postgres.withTransaction(serializationRetries: 3) { transaction in
            let known = try await store.releases([(space: space.id, name: name, seen: now())], transaction)
            guard let release = known.values.first else {
                throw ServiceError(.limitExceeded, "An app may have \(ReleaseStore.maximumReleases) releases.")
            }
            if let released = facts.released {
                try await transaction.execute(
                    "UPDATE analytics.releases SET released = \(released) WHERE id = \(release.id)")
            }
            if let commits = facts.commits {
                try await ReleaseCommitStore.set(commits, of: release.id, transaction)
                try await fixes.apply(commits, of: (id: release.id, name: name.text), in: space, transaction)
            }
            return known
        }
        store.remember(known)
        guard let json = try await read(name, for: principal) else {
            throw ServiceError(.internalError, cause: "the release just created is gone")
        }
        return json
    }

    /// The release in the form that `sentry-cli` reads.
    func read(_ name: ReleaseName, for principal: Principal) async throws -> String? {
        let space = try await spaces.space(of: principal)
        return try await postgres.query(
            """
            SELECT \(Self.json(project: principal.appNumber))::text
            FROM analytics.releases AS r WHERE r.space = \(space.id) AND r.name = \(name.text)
            """
        ).first?.decode(0)
    }
}
