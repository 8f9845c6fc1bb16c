import Hummingbird
import MartletCore
import MartletHTTP
import MartletPostgres

/// Never names the users.
struct ListSentryReports: Endpoint {
    static let route = Route(
        .get, "/crash/api/0/projects/{organization}/{project}/events", "listSentryReports",
        "Lists the 100 newest reports of the 100 issues last seen (`sentry-cli events list`).", callers: .server,
        parameters: [
            .sentryOrganization,
            .sentryProject,
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(200, "The reports, newest first, without their users.", .json(.array(of: .object)))
        ],
        errors: [
            404: "The key belongs to another project (`app-not-found`).",
            403: "This call needs the app's master key (`forbidden`).",
        ])

    private static let maximumListed = 100

    let postgres: PostgresClient
    let spaces: Spaces

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.symbolProject("project")
        let space = try await spaces.space(of: principal)
        let rows = try await postgres.query(
            """
            WITH latest AS (
                SELECT id, title FROM analytics.issues WHERE space = \(space.id) AND deleted IS NULL
                ORDER BY last_seen DESC, id DESC LIMIT \(Self.maximumListed)),
            reports AS (
                SELECT l.title, e.* FROM latest AS l CROSS JOIN LATERAL (
                    SELECT * FROM analytics.crash_events WHERE issue = l.id ORDER BY received DESC, id DESC LIMIT \(Self.maximumListed)) AS e
                ORDER BY e.received DESC, e.id DESC LIMIT \(Self.maximumListed))
            SELECT jsonb_build_object('eventID', replace(e.event_id::text, '-', ''), 'dateCreated', \(PostgresQuery.rfc3339("e.at")),
                'title', e.title, 'project', \(principal.appNumber), 'user', NULL, 'tags', (
                    SELECT coalesce(jsonb_agg(jsonb_build_object('key', t.key, 'value', t.value)), '[]')
                    FROM (VALUES ('level', \(CrashLevel.name(of: "e.level"))), ('environment', e.stage), ('release', r.name), ('os', e.os),
                        ('device', e.device)) AS t (key, value) WHERE t.value <> ''))::text
            FROM reports AS e LEFT JOIN analytics.releases AS r ON r.id = e.release ORDER BY e.received DESC, e.id DESC
            """)
        return .json("[\(try rows.map { try $0.decode(0, as: String.self) }.joined(separator: ","))]")
    }
}
