import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletSentry
import NIOCore

struct CreateSentryDeploy: Endpoint {
    static let route = Route(
        .post, "/crash/api/0/organizations/{organization}/releases/{version}/deploys", "createSentryDeploy",
        "Records where and when a release was deployed (`sentry-cli deploys new`).", callers: .server,
        parameters: [
            .sentryOrganization,
            .release,
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        body: .json(
            .object(
                [
                    "environment": .string.maxLength(64),
                    "name": .string.maxLength(64).nullable,
                    "url": .string.maxLength(500).nullable,
                    "dateStarted": .time.nullable,
                    "dateFinished": .time.nullable.described("When the deploy finished; by default now."),
                ], required: ["environment"])),
        answers: [
            .answer(201, "The deploy as stored. The last 100 deploys of a release are kept.", .json(.object))
        ],
        errors: [
            404: "The app has no such release (`not-found`).",
            403: "This call needs the app's master key (`forbidden`).",
        ])

    private static let maximumBodySizeInBytes = 64 << 10

    let releases: SentryReleases

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.master
        let value = try await request.json(upTo: Self.maximumBodySizeInBytes)
        guard case .object = value else {
            throw ServiceError(.invalidBody, "Expected a JSON object, found \(value.kind.phrase).")
        }
        let deploy = try SentryDeploy(value, at: releases.now())
        guard let json = try await releases.add(deploy, to: try context.sentryVersion, for: principal) else {
            throw ServiceError(.notFound, "There is no such release.")
        }
        var response = Response.json(ByteBuffer(string: json), status: .created)
        // A deploy has no URL of its own.
        response.headers[.location] = request.uri.path
        return response
    }
}

struct ListSentryDeploys: Endpoint {
    static let route = Route(
        .get, "/crash/api/0/organizations/{organization}/releases/{version}/deploys", "listSentryDeploys",
        "Lists the deploys of a release, newest first (`sentry-cli deploys list`).", callers: .server,
        parameters: [
            .sentryOrganization,
            .release,
        ],
        checksOwnQuery: true,
        refusal: SentryAPI.refusal,
        answers: [
            .answer(200, "The deploys.", .json(.array(of: .object)))
        ],
        errors: [
            404: "The app has no such release (`not-found`).",
            403: "This call needs the app's master key (`forbidden`).",
        ])

    let releases: SentryReleases

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard let list = try await releases.deploys(of: try context.sentryVersion, for: try context.master) else {
            throw ServiceError(.notFound, "There is no such release.")
        }
        return .json(list)
    }
}

/// A deployment of a release to an environment.
struct SentryDeploy: Sendable {
    var environment: String
    var name: String?
    var url: String?
    var started: Date?
    var finished: Date

    /// - Parameter now: The time at which the deploy finished if the value does not say.
    /// - Throws: `invalid-body` naming the field.
    init(_ value: JSONValue, at now: Date) throws {
        guard let environment = try value.deployText("environment", upTo: 64) else {
            throw ServiceError(.invalidBody, "This field is required.", field: "environment")
        }
        self.environment = environment
        name = try value.deployText("name", upTo: 64)
        url = try value.deployText("url", upTo: 500)
        started = try value.date("dateStarted")
        finished = try value.date("dateFinished") ?? now
    }
}

extension JSONValue {
    /// The text of a field; nil if it is missing or empty.
    ///
    /// - Throws: `invalid-body`.
    fileprivate func deployText(_ name: String, upTo limit: Int) throws -> String? {
        guard let text = self[name]?.looseText, !text.isEmpty else { return nil }
        guard text.utf8.count <= limit,
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw ServiceError(
                .invalidBody, "Expected at most \(limit) bytes without control characters.", field: name)
        }
        return text
    }
}

extension SentryReleases {
    private static let maximumDeploys = 100

    /// Adds a deploy and returns it as JSON; nil if there is no such release.
    func add(_ deploy: SentryDeploy, to release: ReleaseName, for principal: Principal) async throws -> String? {
        let space = try await spaces.space(of: principal)
        return try await postgres.withTransaction { transaction in
            // Locks the release, so that deploys are added one at a time.
            let id = try await transaction.query(
                "SELECT id FROM analytics.releases WHERE space = \(space.id) AND name = \(release.text) FOR NO KEY UPDATE"
            ).first?.decode(0, as: Int32.self)
            guard let id else { return nil }
            try await transaction.execute(
                """
                DELETE FROM analytics.release_deploys WHERE release = \(id) AND id NOT IN (
                    SELECT id FROM analytics.release_deploys WHERE release = \(id) ORDER BY id DESC LIMIT \(Self.maximumDeploys - 1))
                """)
            return try await transaction.query(
                """
                INSERT INTO analytics.release_deploys AS d (release, environment, name, url, started, finished)
                VALUES (\(id), \(deploy.environment), \(deploy.name), \(deploy.url), \(deploy.started), \(deploy.finished))
                RETURNING \(Self.deploy)::text
                """
            ).first?.decode(0)
        }
    }

    /// The deploys as a JSON array, newest first; nil if there is no such release.
    func deploys(of release: ReleaseName, for principal: Principal) async throws -> String? {
        let space = try await spaces.space(of: principal)
        return try await postgres.query(
            """
            SELECT coalesce((SELECT jsonb_agg(\(Self.deploy) ORDER BY d.id DESC) FROM analytics.release_deploys AS d WHERE d.release = r.id), '[]')::text
            FROM analytics.releases AS r WHERE r.space = \(space.id) AND r.name = \(release.text)
            """
        ).first?.decode(0)
    }

    /// The JSON of the row `d`.
    private static let deploy: PostgresQuery = """
        jsonb_build_object('id', d.id::text, 'environment', d.environment, 'name', d.name, 'url', d.url,
            'dateStarted', \(PostgresQuery.rfc3339("d.started")), 'dateFinished', \(PostgresQuery.rfc3339("d.finished")))
        """
}
