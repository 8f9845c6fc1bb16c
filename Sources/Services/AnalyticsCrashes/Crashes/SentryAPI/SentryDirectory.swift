import Hummingbird
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

struct ListSentryRegions: Endpoint {
    static let route = Route(
        .get, "/crash/api/0/users/me/regions", "listSentryRegions",
        "Returns no regions, so that `sentry-cli` asks this server for organizations.", callers: .server,
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(
                200, "An empty list.",
                .json(
                    .object(
                        [
                            "regions": .array.maxItems(0)
                        ])))
        ],
        errors: [403: "This call needs the app's master key (`forbidden`)."])

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.master
        return .json(#"{"regions":[]}"#)
    }
}

/// Other calls accept any name for the organization.
struct ListSentryOrganizations: Endpoint {
    static let route = Route(
        .get, "/crash/api/0/organizations", "listSentryOrganizations",
        "Lists a single organization, which stands for this server (`sentry-cli organizations list`).",
        callers: .server,
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(200, "The organization.", .json(.array(of: .object)))
        ],
        errors: [403: "This call needs the app's master key (`forbidden`)."])

    let postgres: PostgresClient
    let spaces: Spaces

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await spaces.space(of: try context.master)
        let rows = try await postgres.query(
            """
            SELECT jsonb_build_array(jsonb_build_object('id', '1', 'slug', 'martlet', 'name', 'Martlet',
                'dateCreated', \(PostgresQuery.rfc3339("created")), 'isEarlyAdopter', FALSE, 'require2FA', FALSE,
                'requireEmailVerification', FALSE, 'features', '[]'::jsonb))::text
            FROM analytics.spaces WHERE id = \(space.id)
            """)
        return .json(try rows.first?.decode(0, as: String.self) ?? "[]")
    }
}

struct ListSentryProjects: Endpoint {
    static let route = Route(
        .get, "/crash/api/0/organizations/{organization}/projects", "listSentryProjects",
        "Lists the app of the key as the only project (`sentry-cli projects list`).", callers: .server,
        parameters: [
            .sentryOrganization
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(200, "The app.", .json(.array(of: .object)))
        ],
        errors: [403: "This call needs the app's master key (`forbidden`)."])

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.master
        let number = principal.appNumber
        return .json(#"[{"id":"\#(number)","slug":"\#(number)","name":"\#(principal.appID)","team":null}]"#)
    }
}
