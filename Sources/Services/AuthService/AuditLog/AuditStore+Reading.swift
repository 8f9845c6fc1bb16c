import Foundation
import MartletAPI
import MartletPostgres

/// A filter for entries of the audit log; nil values match everything.
struct AuditFilter: Sendable {
    var staffID: UUID?
    var area: StaffArea?
    var appID: String?
    var environment: AppEnvironment?
    var action: String?
    /// Matches this target, and those whose path begins with it: `Note` also matches `Note/0190…`. At most 255
    /// characters.
    var target: String?
    /// The time range: `from` is inclusive, `to` is exclusive.
    var from: Date?
    var to: Date?

    /// The best index depends on the values, so statements with this condition are planned for them.
    fileprivate var condition: PostgresQuery {
        var parts: [PostgresQuery] = []
        if let staffID { parts.append("staff_id = \(staffID)") }
        if let area { parts.append("area = \(area.rawValue)") }
        if let appID { parts.append("app_id = \(appID)") }
        if let environment { parts.append("environment = \(environment.rawValue)") }
        if let action { parts.append("action = \(action)") }
        if let target {
            // The expressions are those of the index. "0" follows "/" in byte order, so the range contains exactly
            // what begins with "<target>/".
            parts.append(
                """
                (left(target, 256) COLLATE "C" = \(target)
                    OR left(target, 256) COLLATE "C" >= \(target + "/") AND left(target, 256) COLLATE "C" < \(target + "0"))
                """)
        }
        if let from { parts.append("at >= \(from)") }
        if let to { parts.append("at < \(to)") }
        return parts.isEmpty ? "TRUE" : parts.joined(separator: " AND ")
    }
}

/// An entry for export.
struct AuditRow: Sendable {
    var number: Int64
    var json: String
    /// The columns of the CSV, in the order of `header` (`ExportAuditLog.swift`).
    var cells: [String?]
}

extension AuditStore {
    /// Entries before `number`, newest first, each with its number.
    func list(_ filter: AuditFilter, before number: Int64, limit: Int) async throws -> [(number: Int64, json: String)] {
        var query: PostgresQuery = """
            SELECT number, \(Self.json) FROM auth.audit_log WHERE number < \(number) AND \(filter.condition) ORDER BY number DESC LIMIT \(limit)
            """
        query.isPlannedForValues = true
        return try await postgres.query(query).map { (try $0.decode(0), try $0.decode(1)) }
    }

    /// Entries after `number`, oldest first.
    func rows(_ filter: AuditFilter, after number: Int64, limit: Int) async throws -> [AuditRow] {
        var query: PostgresQuery = """
            SELECT number, \(Self.json), ARRAY[number::text, \(PostgresQuery.rfc3339("at")), staff_id::text, staff_name, action, area, app_id, target,
                before::text, after::text, address, environment]
            FROM auth.audit_log WHERE number > \(number) AND \(filter.condition) ORDER BY number LIMIT \(limit)
            """
        query.isPlannedForValues = true
        return try await postgres.query(query, timeout: .seconds(30)).map {
            AuditRow(number: try $0.decode(0), json: try $0.decode(1), cells: try $0.decode(2))
        }
    }

    private static let json: PostgresQuery = """
        jsonb_build_object(
            'number', number, 'time', \(PostgresQuery.rfc3339("at")), 'staff', jsonb_build_object('id', staff_id, 'userName', staff_name),
            'action', action, 'area', area, 'app', app_id, 'environment', environment,
            'target', target, 'before', before, 'after', after, 'address', address)::text
        """
}
