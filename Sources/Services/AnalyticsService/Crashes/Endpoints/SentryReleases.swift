import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletSentry
import NIOCore

/// `POST /crash/api/0/organizations/{organization}/releases/` with `{"version","projects":[…]}`, as `sentry-cli releases new` sends it: the release is
/// known before a report comes from it. 201; master key. One that is known stays as it is. With `commits`, as for `FinishSentryRelease`.
struct CreateSentryRelease: Endpoint {
    let releases: SentryReleases

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.master
        let body = try await request.sentryRelease(of: principal)
        guard let version = body["version"]?.looseText else { throw HTTPProblem(.invalidBody, "This field is required.", field: "version") }
        let name = try SentryReleases.name(version, "version")
        var response = Response.json(try await releases.make(name, try SentryReleases.Facts(body), for: principal))
        response.status = .created
        response.headers[.location] = request.uri.path + (request.uri.path.hasSuffix("/") ? "" : "/") + RelativeReference.encoded(name.text) + "/"
        return response
    }
}

/// `PUT /crash/api/0/organizations/{organization}/releases/{version}/` with `{"projects":[…],"dateReleased"}`, as `sentry-cli releases finalize` sends
/// it: says when the release came out; and with `{"commits":[…]}`, as `sentry-cli releases set-commits` sends them: what went into it, in place of what
/// was said before. Master key.
struct FinishSentryRelease: Endpoint {
    let releases: SentryReleases

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.master
        let body = try await request.sentryRelease(of: principal)
        return .json(try await releases.make(try context.sentryVersion, try SentryReleases.Facts(body), for: principal))
    }
}

/// `GET /crash/api/0/organizations/{organization}/releases/{version}/`; master key.
struct ReadSentryRelease: Endpoint {
    let releases: SentryReleases

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.master
        guard let json = try await releases.read(try context.sentryVersion, for: principal) else { throw HTTPProblem(.notFound, "There is no such release.") }
        return .json(json)
    }
}

extension Request {
    /// - Throws: `invalid-json`, `invalid-body` for what would not be kept, `app-not-found` for a project that is not the key's.
    fileprivate func sentryRelease(of principal: Principal) async throws -> JSONValue {
        let value = try await json(upTo: SentryReleases.maximumSizeInBytes)
        guard case .object = value else { throw HTTPProblem(.invalidBody, "The body must be an object.") }
        if let status = value["status"]?.looseText, status != "open" {
            throw HTTPProblem(.invalidBody, "Martlet does not archive releases: those without reports can be deleted.", field: "status")
        }
        guard !value.hasReferences else {
            throw HTTPProblem(.invalidBody, "Martlet reads no repositories: send the commits, as `releases set-commits --local` does.", field: "refs")
        }
        for project in value["projects"]?.looseList ?? [] {
            guard let name = project.looseText, name == String(principal.appNumber) || name == principal.appID else {
                throw HTTPProblem(.appNotFound, "The project of this key has the number \(principal.appNumber).")
            }
        }
        return value
    }
}

extension JSONValue {
    /// Names of commits in repositories that the server would have to read.
    fileprivate var hasReferences: Bool { !(self["refs"]?.looseList ?? []).isEmpty }

    /// - Throws: `invalid-body`.
    func date(_ name: String) throws -> Date? {
        guard let value = self[name], value != .null else { return nil }
        guard let date = Date(loose: value), date.timeIntervalSince1970 < 4e9 else {
            throw HTTPProblem(.invalidBody, "This must be a time such as 2026-11-22T08:48:59Z.", field: name)
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

/// Releases that builds tell of, among those that reports and sessions name.
struct SentryReleases: Sendable {
    let postgres: PostgresClient
    let spaces: Spaces
    let store: ReleaseStore
    /// What commits say that they mend.
    let fixes: CommitFixes

    /// Five hundred commits with the files that they change.
    static let maximumSizeInBytes = 8 << 20

    var commits: ReleaseCommitStore { ReleaseCommitStore(postgres: postgres) }

    /// What is said of a release; of what is nil nothing.
    struct Facts: Sendable {
        /// When it came out.
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
        guard (1...250).contains(text.utf8.count), !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw HTTPProblem(.invalidBody, "A release's name has 1 to 250 bytes.", field: field)
        }
        return ReleaseName(text)
    }

    /// - Throws: `limit-exceeded`.
    func make(_ name: ReleaseName, _ facts: Facts, for principal: Principal) async throws -> String {
        let space = try await spaces.space(of: principal)
        // Another copy of the service may have deleted what this one knows.
        store.forget()
        let known = try await postgres.withTransaction(serializationRetries: 3) { transaction in
            let known = try await store.releases([(space: space.id, name: name, seen: Date())], transaction)
            guard let release = known.values.first else {
                throw HTTPProblem(.limitExceeded, "An app may have \(ReleaseStore.maximumReleases) releases.")
            }
            if let released = facts.released { try await transaction.execute("UPDATE analytics.releases SET released = \(released) WHERE id = \(release.id)") }
            if let commits = facts.commits {
                try await ReleaseCommitStore.set(commits, of: release.id, transaction)
                try await fixes.apply(commits, of: (id: release.id, name: name.text), in: space, transaction)
            }
            return known
        }
        store.remember(known)
        guard let json = try await read(name, for: principal) else { throw HTTPProblem(.internalError, cause: "a release that was made is gone") }
        return json
    }

    /// As `sentry-cli` reads it.
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
