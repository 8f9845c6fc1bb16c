import Foundation
import MartletAPI
import MartletHTTP
import MartletPostgres

/// What of an app is to change; nil: nothing.
struct AppChange: Sendable {
    var name: String?
    var bundleIDs: [String]?
    /// `.some(nil)`: it is in no store.
    var storeID: String??
    /// A JSON object, instead of the whole former one.
    var settings: String?
}

/// Apps as staff see and change them: JSON objects, archived ones too. Every change is in the audit log.
extension AppStore {
    struct Listed: Sendable {
        var number: Int
        var json: String
    }

    /// Some of the apps, or all of them.
    enum Selection: Sendable {
        case all
        case only([String])

        /// Whether the app of the row `a` is one of them.
        fileprivate var condition: PostgresQuery {
            switch self {
            case .all: "TRUE"
            case .only(let ids): "a.id = ANY(\(ids))"
            }
        }
    }

    /// Apps in the order in which they were made, from behind `after`.
    ///
    /// - Parameters:
    ///   - apps: those that are listed.
    ///   - readable: those shown in full; of the others only what tells them apart is shown.
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

    /// Makes an app with a first set of credentials; without a master key for an author who may not do all that it
    /// opens.
    func create(_ name: String, _ change: AppChange, by author: AppAuthor) async throws -> (keys: NewApp, json: String)
    {
        try await postgres.withTransaction { transaction in
            let app = try await Self.create(name: name, transaction)
            let keys = try await NewApp(
                credentialsOf: app, withMasterKey: author.mayOpen(.master, scopes: nil, of: app.id), transaction)
            let json = try await Self.update(app.id, change, transaction)
            try await author.record("create", of: app.id, target: app.id, after: json, transaction)
            return (keys, json)
        }
    }

    /// - Throws: `app-not-found`, `conflict` when it is archived.
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

    /// Takes an app out of use, or back into it: gateways know its keys no longer, or again. Its data stay. Done twice
    /// it is done once.
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

    /// Lets one change of an app and of what belongs to it through at a time, until the transaction ends.
    ///
    /// - Returns: the app as it is.
    /// - Throws: `app-not-found`; `conflict` when it is archived and that is not allowed.
    @discardableResult
    static func lock(_ id: String, allowingArchived: Bool = false, _ transaction: PostgresTransaction) async throws
        -> String
    {
        // Not FOR UPDATE, for which whoever adds a user would have to wait.
        let rows = try await transaction.query(
            "SELECT \(json), a.archived IS NOT NULL FROM auth.apps AS a WHERE a.id = \(id) FOR NO KEY UPDATE")
        guard let row = rows.first else { throw HTTPProblem(.appNotFound) }
        guard try allowingArchived || !row.decode(1, as: Bool.self) else {
            throw HTTPProblem(.conflict, "The app is archived: restore it first.")
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
            throw HTTPProblem(.invalidBody, "The numbers in it are too large.", field: "settings")
        }
    }

    /// What tells the app of the row `a` from others.
    private static let shortJSON: PostgresQuery = """
        jsonb_build_object('id', a.id, 'number', a.number, 'name', a.name, 'archived', \(PostgresQuery.rfc3339("a.archived")))::text
        """

    /// Of the row `a`.
    private static let json: PostgresQuery = """
        jsonb_build_object(
            'id', a.id, 'number', a.number, 'name', a.name, 'bundleIds', a.bundle_ids, 'storeId', a.store_id,
            'icon', (SELECT \(PictureStore.json) FROM auth.app_icons AS p WHERE p.app_id = a.id),
            'settings', a.settings, 'created', \(PostgresQuery.rfc3339("a.created")), 'updated', \(PostgresQuery.rfc3339("a.updated")),
            'archived', \(PostgresQuery.rfc3339("a.archived")))::text
        """
}
