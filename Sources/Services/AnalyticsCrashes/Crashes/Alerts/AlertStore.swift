import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The alert rules of all spaces.
struct AlertStore: Sendable {
    let postgres: PostgresClient
    let secrets: WebhookSecrets

    /// All alerts as JSON objects, ordered by name.
    func list(in space: Space) async throws -> [String] {
        try await postgres.query(
            "SELECT \(Self.json) FROM analytics.crash_alerts AS a WHERE space = \(space.id) ORDER BY name"
        ).map { try $0.decode(0) }
    }

    func read(_ id: UUID, in space: Space) async throws -> String? {
        try await postgres.query(
            "SELECT \(Self.json) FROM analytics.crash_alerts AS a WHERE id = \(id) AND space = \(space.id)"
        ).first?.decode(0)
    }

    /// Creates an alert, which reports only events from now on. Returns the alert's secret, which is not shown again.
    ///
    /// - Throws: `limit-exceeded` beyond `Alert.maximumPerSpace`; `conflict` if the name is taken.
    func create(_ alert: Alert, by author: Author, in space: Space) async throws -> (json: String, secret: Secret) {
        guard let id = UUID(uuidString: UUIDv7.make()) else { throw ServiceError(.internalError) }
        let salt = WebhookSecrets.makeSalt()
        let json = try await postgres.withTransaction { transaction in
            try await transaction.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(\("martlet.analytics.alerts \(space.id)"), 0))")
            let count = try await transaction.query(
                "SELECT count(*) FROM analytics.crash_alerts WHERE space = \(space.id)")[0].decode(0, as: Int.self)
            guard count < Alert.maximumPerSpace else {
                throw ServiceError(.limitExceeded, "An app may have \(Alert.maximumPerSpace) alerts.")
            }
            return try await Self.unique {
                try await transaction.query(
                    """
                    INSERT INTO analytics.crash_alerts AS a (id, space, name, kind, enabled, levels, releases, scope, measure, threshold, window_seconds,
                        minimum, pause_seconds, target, salt, author)
                    VALUES (\(id), \(space.id), \(alert.name), \(alert.kind.rawValue), \(alert.isEnabled), \(alert.levels.map(\.rawValue)),
                        \(alert.releases), \(alert.scope.rawValue), \(alert.measure?.rawValue ?? ""), \(alert.threshold), \(Int32(alert.windowInSeconds)),
                        \(alert.minimum), \(Int32(alert.pauseInSeconds)), \(PostgresJSON(alert.target.json.text)), \(salt), \(author.text))
                    RETURNING \(Self.json)
                    """)
            }[0].decode(0, as: String.self)
        }
        return (json, secret(salt, of: id).text)
    }

    /// Replaces an alert. If the alert was disabled, is now disabled or changes its kind, pending changes of issues are
    /// discarded and the alert reports only events from now on.
    ///
    /// - Throws: `alert-not-found`; `conflict` if the name is taken.
    func replace(_ id: UUID, with alert: Alert, by author: Author, in space: Space) async throws -> String {
        try await postgres.withTransaction { transaction in
            try await transaction.execute(
                """
                DELETE FROM analytics.crash_alert_happenings AS h USING analytics.crash_alerts AS a
                WHERE h.alert = a.id AND a.id = \(id) AND a.space = \(space.id) AND (NOT a.enabled OR NOT \(alert.isEnabled) OR a.kind <> \(alert.kind.rawValue))
                """)
            let rows = try await Self.unique {
                try await transaction.query(
                    """
                    UPDATE analytics.crash_alerts AS a SET name = \(alert.name), kind = \(alert.kind.rawValue), enabled = \(alert.isEnabled),
                        levels = \(alert.levels.map(\.rawValue)), releases = \(alert.releases), scope = \(alert.scope.rawValue),
                        measure = \(alert.measure?.rawValue ?? ""), threshold = \(alert.threshold), window_seconds = \(Int32(alert.windowInSeconds)),
                        minimum = \(alert.minimum), pause_seconds = \(Int32(alert.pauseInSeconds)), target = \(PostgresJSON(alert.target.json.text)),
                        author = \(author.text), changed = now(), looked = '-infinity'
                    WHERE id = \(id) AND space = \(space.id) RETURNING \(Self.json)
                    """)
            }
            guard let row = rows.first else { throw ServiceError(.alertNotFound) }
            return try row.decode(0)
        }
    }

    /// Deletes an alert and its pending deliveries. Returns false if there is none.
    func delete(_ id: UUID, in space: Space) async throws -> Bool {
        try await postgres.execute("DELETE FROM analytics.crash_alerts WHERE id = \(id) AND space = \(space.id)") > 0
    }

    /// Creates a new secret. Messages are also signed with the previous one for `Alert.formerSecretSeconds`.
    ///
    /// - Throws: `alert-not-found`.
    func rotateSecret(of id: UUID, in space: Space) async throws -> Secret {
        let salt = WebhookSecrets.makeSalt()
        let count = try await postgres.execute(
            """
            UPDATE analytics.crash_alerts SET former_salt = salt, salt = \(salt), former_until = now() + make_interval(secs => \(Double(Alert.formerSecretSeconds)))
            WHERE id = \(id) AND space = \(space.id)
            """)
        guard count > 0 else { throw ServiceError(.alertNotFound) }
        return secret(salt, of: id).text
    }

    /// The alert's target and signing secrets; nil if the alert is gone.
    func address(of id: UUID) async throws -> (address: AlertAddress, secrets: [WebhookSecret])? {
        let rows = try await postgres.query(
            "SELECT target::text, salt, CASE WHEN former_until > now() THEN former_salt END FROM analytics.crash_alerts WHERE id = \(id)"
        )
        guard let row = rows.first else { return nil }
        let address = try AlertAddress(try JSONValue(parsing: try row.decode(0, as: String.self).utf8))
        let salts = [try row.decode(1, as: [UInt8].self), try row.decode(2, as: [UInt8]?.self)].compactMap(\.self)
        return (address, salts.map { secret($0, of: id) })
    }

    /// Disables an alert until it is stored again.
    func disable(_ id: UUID) async throws {
        try await postgres.execute(
            "UPDATE analytics.crash_alerts SET enabled = FALSE, changed = now() WHERE id = \(id)")
    }

    private func secret(_ salt: [UInt8], of id: UUID) -> WebhookSecret {
        secrets.secret(salt: salt, purpose: "martlet crash alert \(id.uuidString.lowercased())")
    }

    /// - Throws: `conflict` if the name is taken.
    private static func unique<T>(_ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch let error as PostgresError where error.isUniqueViolation {
            throw ServiceError(.conflict, "Another alert already has this name.", field: "name")
        }
    }

    /// The JSON of the row `a`, without its secret.
    private static let json: PostgresQuery = """
        (jsonb_build_object(
            'id', a.id, 'name', a.name, 'kind', a.kind, 'enabled', a.enabled,
            'levels', to_jsonb(ARRAY(SELECT \(CrashLevel.name(of: "l")) FROM unnest(a.levels) AS l)), 'releases', to_jsonb(a.releases),
            'pauseSeconds', a.pause_seconds, 'target', a.target, 'fired', \(PostgresQuery.rfc3339("a.fired")), 'author', a.author,
            'created', \(PostgresQuery.rfc3339("a.created")), 'changed', \(PostgresQuery.rfc3339("a.changed")),
            'lastDelivery', (SELECT jsonb_build_object('id', d.id, 'state', d.state, 'status', d.status, 'error', d.error, 'readers', d.readers,
                'created', \(PostgresQuery.rfc3339("d.created"))) FROM analytics.crash_alert_deliveries AS d
                WHERE d.alert = a.id ORDER BY d.created DESC, d.id DESC LIMIT 1))
        || CASE a.kind
            WHEN 'rate' THEN jsonb_build_object(
                'scope', a.scope, 'measure', a.measure, 'threshold', a.threshold::bigint, 'windowSeconds', a.window_seconds)
            WHEN 'crashFree' THEN jsonb_build_object(
                'measure', a.measure, 'threshold', a.threshold, 'windowDays', a.window_seconds / 86400, 'minimum', a.minimum)
            ELSE '{}' END)::text
        """
}
