import Hummingbird
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// `GET /crash/api/0/users/me/regions/`: an empty list, so that `sentry-cli` asks this server for organizations. Master
/// key.
struct ListSentryRegions: Endpoint {
    static let route = Route(
        .get, "/crash/api/0/users/me/regions", "listSentryRegions",
        "None, so that `sentry-cli` asks this server for organizations.", callers: .server,
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(
                200, "None.",
                .json(
                    .object(
                        [
                            "regions": .array.maxItems(0)
                        ])))
        ],
        errors: [403: "The key or the rights do not open this."])

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.master
        return .json(#"{"regions":[]}"#)
    }
}

/// `GET /crash/api/0/organizations/`: a single organization that stands for this server. Other calls accept any name
/// for it. Master key.
struct ListSentryOrganizations: Endpoint {
    static let route = Route(
        .get, "/crash/api/0/organizations", "listSentryOrganizations",
        """
        `sentry-cli organizations list`: one, which stands for this server. Any other name is as good.
        """, callers: .server,
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(200, "The organization.", .json(.array(of: .object)))
        ],
        errors: [403: "The key or the rights do not open this."])

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

/// `GET /crash/api/0/organizations/{organization}/projects/`: the key's app. Master key.
struct ListSentryProjects: Endpoint {
    static let route = Route(
        .get, "/crash/api/0/organizations/{organization}/projects", "listSentryProjects",
        "`sentry-cli projects list`: the app of the key.", callers: .server,
        parameters: [
            .path("organization", .string, "Any.")
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(200, "The app.", .json(.array(of: .object)))
        ],
        errors: [403: "The key or the rights do not open this."])

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.master
        let number = principal.appNumber
        return .json(#"[{"id":"\#(number)","slug":"\#(number)","name":"\#(principal.appID)","team":null}]"#)
    }
}
