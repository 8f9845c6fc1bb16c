import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Selects installations; a nil property matches all.
struct InstallationFilter: Sendable {

    var user, channel, appVersion: String?
    var platform: Platform?
    var service: PushService?
    var isSandbox, hasToken: Bool?
    /// The time range of the last contact: `from` is inclusive, `to` exclusive.
    var seen: (from: Date?, to: Date?)

    /// - Throws: `invalid-parameter`.
    init(_ request: Request) throws {
        user = try request.shortParameter("user")
        channel = try request.shortParameter("channel")
        appVersion = try request.shortParameter("appVersion")
        platform = try request.choice("platform")
        service = try request.choice("service")
        isSandbox = try request.uri.queryParameters["sandbox"].map { _ in try request.flag("sandbox") }
        hasToken = try request.uri.queryParameters["hasToken"].map { _ in try request.flag("hasToken") }
        seen = (try request.time("seenFrom"), try request.time("seenTo"))
    }

    /// The SQL condition for the row `i`.
    func condition(in space: Space) -> PostgresQuery {
        var parts: [PostgresQuery] = ["i.space = \(space.id)"]
        if let user { parts.append("i.user_id = \(user)") }
        if let channel { parts.append("i.channels @> \([channel])") }
        if let appVersion { parts.append("i.app_version = \(appVersion)") }
        if let platform { parts.append("i.platform = \(platform.rawValue)") }
        if let service { parts.append("i.service = \(service.rawValue)") }
        if let isSandbox { parts.append("i.is_sandbox = \(isSandbox)") }
        if let hasToken { parts.append(hasToken ? "i.token IS NOT NULL" : "i.token IS NULL") }
        if let from = seen.from { parts.append("i.seen >= \(from)") }
        if let to = seen.to { parts.append("i.seen < \(to)") }
        return parts.joined(separator: " AND ")
    }
}

extension Request {
    /// - Throws: `invalid-parameter`.
    fileprivate func shortParameter(_ name: Substring) throws -> String? {
        guard let text = uri.queryParameters[name] else { return nil }
        guard (1...100).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw ServiceError(
                .invalidParameter, "Expected 1 to 100 bytes without NUL, found \(text.utf8.count).",
                field: String(name))
        }
        return String(text)
    }
}

extension InstallationStore {
    /// A page ordered by id.
    ///
    /// - Parameter cursor: The last id of the previous page.
    func list(_ filter: InstallationFilter, in space: Space, after cursor: UUID?, limit: Int) async throws
        -> [Installation]
    {
        let place: PostgresQuery = cursor.map { " AND i.id > \($0)" } ?? ""
        return try await postgres.query(
            """
            SELECT \(Installation.columns) FROM notifications.installations AS i
            WHERE \(filter.condition(in: space))\(place) ORDER BY i.id LIMIT \(limit)
            """
        ).map { try Installation($0) }
    }

    /// Counts installations, tokens and users by platform, service and APNs environment.
    func count(_ filter: InstallationFilter, in space: Space) async throws -> [InstallationCount] {
        try await postgres.query(
            """
            SELECT i.platform, i.service, i.is_sandbox, count(*), count(i.token), count(DISTINCT i.user_id) FROM notifications.installations AS i
            WHERE \(filter.condition(in: space)) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
            """
        ).map {
            InstallationCount(
                platform: try $0.word(0), service: try $0.word(1), sandbox: try $0.decode(2),
                installations: try $0.decode(3), withToken: try $0.decode(4),
                users: try $0.decode(5))
        }
    }
}

/// The counts for one combination of platform, push service and APNs environment.
struct InstallationCount: Encodable, Sendable {
    var platform: Platform
    var service: PushService
    var sandbox: Bool
    var installations, withToken, users: Int
}
