import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// A change to an app; nil leaves a property unchanged.
struct AppChange: Sendable {
    var name: String?
    var bundleIDs: [String]?
    /// `.some(nil)` removes the id of an app that is in no store.
    var storeID: String??
    /// A JSON object that replaces the former one.
    var settings: String?
}

/// Apps as staff see and change them: JSON objects, including archived apps. Every change is recorded in the audit log.
extension AppStore {
    struct Listed: Sendable {
        var number: Int
        var json: String
    }

    /// A set of apps, or all of them.
    enum Selection: Sendable {
        case all
        case only([String])

        /// Whether the app in row `a` is in the selection.
        fileprivate var condition: PostgresQuery {
            switch self {
            case .all: "TRUE"
            case .only(let ids): "a.id = ANY(\(ids))"
            }
        }
    }

    /// Apps in the order of their creation, starting after `after`.
    ///
    /// - Parameters:
    ///   - apps: The apps to list.
    ///   - readable: The apps shown in full. Other apps are shown with their identifying properties only.
    func list(_ apps: Selection, readable: Selection, areArchived: Bool, after: Int, limit: Int) async throws
        -> [Listed]
    {
        try await postgres.query(
            """
            SELECT a.number, CASE WHEN \(readable.condition) THEN \(Self.json) ELSE \(Self.shortJSON) END FROM auth.apps AS a
            WHERE (a.archived IS NOT NULL) = \(areArchived) AND a.number > \(after) AND \(apps.condition) ORDER BY a.number LIMIT \(limit)
            """
        ).map { Listed(number: try $0.decode(0), json: try $0.decode(1)) }
    }

    func read(_ id: String) async throws -> String? {
        try await postgres.query("SELECT \(Self.json) FROM auth.apps AS a WHERE a.id = \(id)").first?.decode(0)
    }

    /// Creates an app with a first set of credentials. If the author lacks a right that a master key would give, the
    /// app gets no master key.
    func create(_ name: String, _ change: AppChange, by author: AppAuthor) async throws -> (keys: NewApp, json: String)
    {
        try await postgres.withTransaction { transaction in
            let app = try await Self.create(name: name, transaction)
            let keys = try await NewApp(
                credentialsOf: app, withMasterKey: author.hasRights(ofKey: .master, scopes: nil, of: app.id),
                transaction)
            let json = try await Self.update(app.id, change, transaction)
            try await author.record("create", of: app.id, target: app.id, after: json, transaction)
            return (keys, json)
        }
    }

    /// - Throws: `app-not-found`, `conflict` if the app is archived.
    func change(_ id: String, _ change: AppChange, by author: AppAuthor) async throws -> String {
        try await postgres.withTransaction { try await Self.change(id, change, by: author, $0) }
    }

    static func change(_ id: String, _ change: AppChange, by author: AppAuthor, _ transaction: PostgresTransaction)
        async throws -> String
    {
        let before = try await lock(id, transaction)
        let after = try await update(id, change, transaction)
        try await author.record("update", of: id, target: id, before: before, after: after, transaction)
        return after
    }

    /// Archives an app or restores it. Gateways refuse or accept its keys accordingly; its data is kept. Idempotent.
    ///
    /// - Throws: `app-not-found`.
    func setArchived(_ isArchived: Bool, _ id: String, by author: AppAuthor) async throws -> String {
        try await postgres.withTransaction { transaction in
            let before = try await Self.lock(id, allowingArchived: true, transaction)
            let after: String? = try await transaction.query(
                """
                UPDATE auth.apps AS a SET archived = CASE WHEN \(isArchived) THEN now() END, updated = now()
                WHERE a.id = \(id) AND (a.archived IS NOT NULL) <> \(isArchived) RETURNING \(Self.json)
                """
            ).first?.decode(0)
            guard let after else { return before }
            try await author.record(
                isArchived ? "archive" : "restore", of: id, target: id, before: before, after: after, transaction)
            return after
        }
    }

    /// Locks an app until the transaction ends, so that changes to it and to what belongs to it are serialized.
    ///
    /// - Returns: The app in its current state.
    /// - Throws: `app-not-found`; `conflict` if it is archived and that is not allowed.
    @discardableResult
    static func lock(_ id: String, allowingArchived: Bool = false, _ transaction: PostgresTransaction) async throws
        -> String
    {
        // Not FOR UPDATE, because inserting a user would then have to wait.
        let rows = try await transaction.query(
            "SELECT \(json), a.archived IS NOT NULL FROM auth.apps AS a WHERE a.id = \(id) FOR NO KEY UPDATE")
        guard let row = rows.first else { throw ServiceError(.appNotFound) }
        guard try allowingArchived || !row.decode(1, as: Bool.self) else {
            throw ServiceError(.conflict, "The app is archived; restore it first.")
        }
        return try row.decode(0)
    }

    private static func update(_ id: String, _ change: AppChange, _ transaction: PostgresTransaction) async throws
        -> String
    {
        var assignments: [PostgresQuery] = ["updated = now()"]
        if let name = change.name { assignments.append("name = \(name)") }
        if let ids = change.bundleIDs { assignments.append("bundle_ids = \(ids)") }
        if let id = change.storeID { assignments.append("store_id = \(id)") }
        if let settings = change.settings { assignments.append("settings = \(settings)::jsonb") }
        do {
            return try await transaction.query(
                "UPDATE auth.apps AS a SET \(assignments.joined(separator: ", ")) WHERE a.id = \(id) RETURNING \(json)")[
                    0
                ].decode(0)
        } catch let error as PostgresError where error.constraint == "apps_settings_size" {
            throw ServiceError(.invalidBody, "The numbers in this object are too large.", field: "settings")
        }
    }

    /// The properties that identify the app in row `a`.
    private static let shortJSON: PostgresQuery = """
        jsonb_build_object('id', a.id, 'number', a.number, 'name', a.name, 'archived', \(PostgresQuery.rfc3339("a.archived")))::text
        """

    /// The JSON of the row `a`.
    private static let json: PostgresQuery = """
        jsonb_build_object(
            'id', a.id, 'number', a.number, 'name', a.name, 'bundleIds', a.bundle_ids, 'storeId', a.store_id,
            'icon', (SELECT \(PictureStore.json) FROM auth.app_icons AS p WHERE p.app_id = a.id),
            'settings', a.settings, 'created', \(PostgresQuery.rfc3339("a.created")), 'updated', \(PostgresQuery.rfc3339("a.updated")),
            'archived', \(PostgresQuery.rfc3339("a.archived")))::text
        """
}
