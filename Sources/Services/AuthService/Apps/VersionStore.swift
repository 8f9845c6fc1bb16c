import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// A change to a version; nil leaves a property unchanged.
struct VersionChange: Sendable {
    enum State: String, Sendable, CaseIterable {
        case planned, released
    }

    var number: VersionNumber?
    var build: String?
    var state: State?
    /// `YYYY-MM-DD`; `.some(nil)` removes the date.
    var releaseDate: String??
    /// A JSON object from language to text that replaces the former one.
    var notes: String?
}

/// The versions of apps as JSON objects. Every change is recorded in the audit log.
struct VersionStore: Sendable {
    static let maximumPerApp = 1_000

    struct Listed: Sendable {
        var number: String
        var json: String
    }

    let postgres: PostgresClient

    /// The newest first, starting after `after`.
    func list(of appID: String, after: VersionNumber?, limit: Int) async throws -> [Listed] {
        var condition: PostgresQuery = "v.app_id = \(appID)"
        if let after { condition = "\(condition) AND v.sort_key < \(after.sortKey)" }
        return try await postgres.query(
            "SELECT v.number, \(Self.json) FROM auth.app_versions AS v WHERE \(condition) ORDER BY v.sort_key DESC LIMIT \(limit)"
        ).map { Listed(number: try $0.decode(0), json: try $0.decode(1)) }
    }

    func read(_ number: VersionNumber, of appID: String) async throws -> String? {
        try await postgres.query("SELECT \(Self.json) FROM auth.app_versions AS v WHERE \(Self.matches(number, appID))")
            .first?.decode(0)
    }

    static func read(_ number: VersionNumber, of appID: String, _ transaction: PostgresTransaction) async throws
        -> String?
    {
        try await transaction.query("SELECT \(json) FROM auth.app_versions AS v WHERE \(matches(number, appID))").first?
            .decode(0)
    }

    static func find(_ number: VersionNumber, of appID: String, _ transaction: PostgresTransaction) async throws
        -> UUID?
    {
        try await transaction.query("SELECT v.id FROM auth.app_versions AS v WHERE \(matches(number, appID))").first?
            .decode(0)
    }

    /// - Throws: `conflict` if the number is taken, `limit-exceeded`; the errors of `AppStore.lock`.
    func create(_ number: VersionNumber, _ change: VersionChange, of appID: String, by author: AppAuthor) async throws
        -> String
    {
        try await postgres.withTransaction { transaction in
            try await AppStore.lock(appID, transaction)
            guard try await Self.find(number, of: appID, transaction) == nil else { throw Self.taken }
            return try await Self.create(number, change, of: appID, by: author, transaction)
        }
    }

    /// Runs in a transaction that holds the lock of the app, which must not have the version yet.
    @discardableResult
    static func create(
        _ number: VersionNumber, _ change: VersionChange, of appID: String, by author: AppAuthor,
        _ transaction: PostgresTransaction
    ) async throws -> String {
        let count: Int = try await transaction.query("SELECT count(*) FROM auth.app_versions WHERE app_id = \(appID)")[
            0
        ].decode(0)
        guard count < maximumPerApp else {
            throw ServiceError(.limitExceeded, "An app may have at most \(maximumPerApp) versions.")
        }
        let id = UUID(uuidString: UUIDv7.make()) ?? UUID()
        try await transaction.execute(
            """
            INSERT INTO auth.app_versions (id, app_id, number, sort_key, state)
            VALUES (\(id), \(appID), \(number.text), \(number.sortKey), \(VersionChange.State.planned.rawValue))
            """)
        let after: String = try await transaction.query(update(number, change, of: appID))[0].decode(0)
        try await author.record("create-version", of: appID, target: number.text, after: after, transaction)
        return after
    }

    /// - Returns: Nil if there is no such version.
    /// - Throws: `conflict` if another version has the new number; the errors of `AppStore.lock`.
    func change(_ number: VersionNumber, _ change: VersionChange, of appID: String, by author: AppAuthor) async throws
        -> String?
    {
        try await postgres.withTransaction { transaction in
            try await AppStore.lock(appID, transaction)
            return try await Self.change(number, change, of: appID, by: author, transaction)
        }
    }

    /// Runs in a transaction that holds the lock of the app.
    @discardableResult
    static func change(
        _ number: VersionNumber, _ change: VersionChange, of appID: String, by author: AppAuthor,
        _ transaction: PostgresTransaction
    ) async throws -> String? {
        guard let before = try await read(number, of: appID, transaction) else { return nil }
        if let new = change.number, new.sortKey != number.sortKey, try await find(new, of: appID, transaction) != nil {
            throw taken
        }
        let after: String = try await transaction.query(update(number, change, of: appID))[0].decode(0)
        try await author.record(
            "update-version", of: appID, target: number.text, before: before, after: after, transaction)
        return after
    }

    /// Deletes a version with its pictures. Returns false if there is none.
    func delete(_ number: VersionNumber, of appID: String, by author: AppAuthor) async throws -> Bool {
        try await postgres.withTransaction { transaction in
            try await AppStore.lock(appID, transaction)
            guard let before = try await Self.read(number, of: appID, transaction) else { return false }
            try await transaction.execute("DELETE FROM auth.app_versions AS v WHERE \(Self.matches(number, appID))")
            try await author.record("delete-version", of: appID, target: number.text, before: before, transaction)
            return true
        }
    }

    private static let taken = ServiceError(.conflict, "There is already a version with this number.", field: "number")

    // MARK: SQL

    /// A version that is released without a date gets today's.
    private static func update(_ number: VersionNumber, _ change: VersionChange, of appID: String) -> PostgresQuery {
        var assignments: [PostgresQuery] = ["updated = now()"]
        if let number = change.number { assignments.append("number = \(number.text), sort_key = \(number.sortKey)") }
        if let build = change.build { assignments.append("build = \(build)") }
        if let state = change.state { assignments.append("state = \(state.rawValue)") }
        if let notes = change.notes { assignments.append("notes = \(notes)::jsonb") }
        switch (change.releaseDate, change.state) {
        case (let date?, _): assignments.append("release_date = \(date)::date")
        case (nil, .released):
            assignments.append("release_date = coalesce(release_date, (now() AT TIME ZONE 'UTC')::date)")
        default: break
        }
        return
            "UPDATE auth.app_versions AS v SET \(assignments.joined(separator: ", ")) WHERE \(matches(number, appID)) RETURNING \(json)"
    }

    private static func matches(_ number: VersionNumber, _ appID: String) -> PostgresQuery {
        "v.app_id = \(appID) AND v.sort_key = \(number.sortKey)"
    }

    /// An expression for the version's id.
    static func id(of number: VersionNumber, of appID: String) -> PostgresQuery {
        "(SELECT v.id FROM auth.app_versions AS v WHERE \(matches(number, appID)))"
    }

    /// The JSON of the row `v`.
    private static let json: PostgresQuery = """
        jsonb_build_object(
            'number', v.number, 'build', v.build, 'state', v.state, 'releaseDate', v.release_date, 'notes', v.notes,
            'pictures', coalesce((
                SELECT jsonb_agg(\(PictureStore.jsonWithID) ORDER BY p.position, p.id) FROM auth.version_pictures AS p WHERE p.version_id = v.id
            ), '[]'),
            'created', \(PostgresQuery.rfc3339("v.created")), 'updated', \(PostgresQuery.rfc3339("v.updated")))::text
        """
}
