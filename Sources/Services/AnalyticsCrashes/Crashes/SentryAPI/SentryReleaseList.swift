import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletSentry

struct ListSentryReleases: Endpoint {
    static let route = Route(
        .get, "/crash/api/0/organizations/{organization}/releases", "listSentryReleases",
        "Lists the 100 newest releases of the app.", callers: .server,
        parameters: [
            .sentryOrganization
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(200, "The releases, newest first.", .json(.array(of: .object)))
        ],
        errors: [403: "This call needs the app's master key (`forbidden`)."])
    static let listSentryReleasesOfProject = Route(
        .get, "/crash/api/0/projects/{organization}/{project}/releases", "listSentryReleasesOfProject",
        "Lists the 100 newest releases of a project (`sentry-cli releases list`).", callers: .server,
        parameters: [
            .sentryOrganization,
            .sentryProject,
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(200, "The releases, newest first.", .json(.array(of: .object)))
        ],
        errors: [
            404: "The key belongs to another project (`app-not-found`).",
            403: "This call needs the app's master key (`forbidden`).",
        ])

    let releases: SentryReleases

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.parameters.get("project") == nil ? context.master : context.symbolProject("project")
        return .json("[\(try await releases.list(for: principal).joined(separator: ","))]")
    }
}

struct DeleteSentryRelease: Endpoint {
    static let route = Route(
        .delete, "/crash/api/0/organizations/{organization}/releases/{version}", "deleteSentryRelease",
        "Deletes a release with its commits and deploys (`sentry-cli releases delete`).", callers: .server,
        parameters: [
            .sentryOrganization,
            .release,
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(204, "The release is deleted.")
        ],
        errors: [
            404: "The app has no such release (`not-found`).",
            409: "The release still has reports, sessions or issues (`conflict`).",
            403: "This call needs the app's master key (`forbidden`).",
        ])

    let releases: SentryReleases

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.master
        let isFound: Bool
        do {
            isFound = try await releases.delete(try context.sentryVersion, for: principal)
        } catch let error as PostgresError where error.sqlState == "23503" {
            throw ServiceError(
                .conflict, "The release has reports, sessions or issues. It can be deleted once there are none.")
        }
        guard isFound else { throw ServiceError(.notFound, "There is no such release.") }
        return Response(status: .noContent)
    }
}

extension SentryReleases {
    private static let maximumListed = 100

    /// The newest releases first. Names that are versions are ordered by version.
    func list(for principal: Principal) async throws -> [String] {
        let space = try await spaces.space(of: principal)
        return try await postgres.query(
            """
            SELECT \(Self.json(project: principal.appNumber))::text FROM analytics.releases AS r WHERE r.space = \(space.id)
            ORDER BY r.sort_key DESC NULLS LAST, r.first_seen DESC, r.id DESC LIMIT \(Self.maximumListed)
            """
        ).map { try $0.decode(0) }
    }

    /// Deletes a release with its commits and deploys. Returns false if there is none.
    ///
    /// - Throws: SQLSTATE 23503 if something else refers to it.
    func delete(_ name: ReleaseName, for principal: Principal) async throws -> Bool {
        let space = try await spaces.space(of: principal)
        let count = try await postgres.execute(
            "DELETE FROM analytics.releases WHERE space = \(space.id) AND name = \(name.text)")
        store.forget()
        return count == 1
    }

    /// The JSON of the row `r`, in the form that `sentry-cli` reads.
    static func json(project: Int) -> PostgresQuery {
        """
        jsonb_build_object('version', r.name, 'dateCreated', \(PostgresQuery.rfc3339("r.first_seen")),
            'dateReleased', \(PostgresQuery.rfc3339("r.released")), 'url', NULL, 'commitCount', (
                SELECT count(*) FROM analytics.release_commits AS c WHERE c.release = r.id), 'deployCount', (
                SELECT count(*) FROM analytics.release_deploys AS d WHERE d.release = r.id), 'newGroups', (
                SELECT count(*) FROM analytics.issues AS i WHERE i.space = r.space AND i.first_release = r.id AND i.deleted IS NULL),
            'projects', jsonb_build_array(jsonb_build_object('slug', \(String(project))::text, 'name', \(String(project))::text)))
        """
    }
}
