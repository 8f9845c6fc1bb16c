import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Selects the tickets of a list. A ticket must match every parameter, and at least one of a parameter's
/// comma-separated values.
struct TicketFilter: Sendable {
    /// Maximum number of values per parameter.
    private static let maximumValues = 20

    private(set) var conditions: [PostgresQuery]

    /// - Parameter staff: The staff member that `me` stands for, if any.
    /// - Throws: `invalid-parameter` naming the parameter.
    init(_ request: Request, in space: Space, staff: UUID?) throws {
        let isDeleted = try request.flag("deleted")
        conditions = ["t.space = \(space.id)", isDeleted ? "t.deleted IS NOT NULL" : "t.deleted IS NULL"]
        if let words = try Self.words(request, "status", TicketStatus.self) {
            conditions.append("t.status = ANY (\(words))")
        }
        if let words = try Self.words(request, "type", TicketType.self) { conditions.append("t.type = ANY (\(words))") }
        if let words = try Self.words(request, "priority", TicketPriority.self) {
            conditions.append("t.priority = ANY (\(words))")
        }
        if let values = try Self.values(request, "assignee") { conditions.append(try Self.assignees(values, staff)) }
        if let values = try Self.values(request, "label") { conditions.append(Self.labels(values)) }
        if let values = try Self.values(request, "sprint") { conditions.append(try Self.sprints(values)) }
        if let values = try Self.values(request, "version") { conditions.append("t.app_version = ANY (\(values))") }
        if let values = try Self.values(request, "issue") { conditions.append(try Self.issues(values)) }
        if let values = try Self.values(request, "createdBy") {
            conditions.append("t.author = ANY (\(try Self.authors(values, staff)))")
        }
        if let text = request.uri.queryParameters["updatedAfter"] {
            guard let date = Date(rfc3339: String(text)) else {
                throw Self.refusal("Expected a time such as 2026-11-22T09:00:00Z.", "updatedAfter")
            }
            conditions.append("t.updated > \(date)")
        }
        if request.uri.queryParameters["blocked"] != nil {
            let isBlocked = try request.flag("blocked")
            conditions.append("\(TicketStore.isBlocked) = \(isBlocked)")
        }
        if let text = request.uri.queryParameters["search"] {
            conditions.append(try Self.search(String(text), in: space))
        }
    }

    var condition: PostgresQuery { conditions.joined(separator: " AND ") }

    // MARK: Parameters

    private static func refusal(_ detail: String, _ name: String) -> ServiceError {
        ServiceError(.invalidParameter, detail, field: name)
    }

    private static func values(_ request: Request, _ name: Substring) throws -> [String]? {
        guard let text = request.uri.queryParameters[name] else { return nil }
        let values = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard values.count <= maximumValues,
            values.allSatisfy({
                (1...200).contains($0.utf8.count) && !$0.unicodeScalars.contains(where: TicketInput.isControl)
            })
        else {
            throw refusal(
                "Expected 1 to \(maximumValues) values separated by commas, each of 1 to 200 bytes.", String(name))
        }
        return values
    }

    private static func words<Word: RawRepresentable<String> & CaseIterable>(
        _ request: Request, _ name: Substring, _: Word.Type
    ) throws -> [String]? {
        guard let values = try values(request, name) else { return nil }
        guard values.allSatisfy({ Word(rawValue: $0) != nil }) else {
            throw refusal(
                "Expected one or more of \(Word.allCases.map(\.rawValue).joined(separator: ", ")).", String(name))
        }
        return values
    }

    private static func assignees(_ values: [String], _ staff: UUID?) throws -> PostgresQuery {
        let ids = try values.filter { $0 != "none" }.map { value in
            guard let id = value == "me" ? staff : UUID(uuidString: value) else {
                throw refusal(
                    "Expected ids of staff members, none, or me if the caller is a staff member.", "assignee")
            }
            return id
        }
        return "(t.assignee = ANY (\(ids)) OR \(values.contains("none")) AND t.assignee IS NULL)"
    }

    /// Authors as stored by `Author`. A staff member can be named by the id alone.
    private static func authors(_ values: [String], _ staff: UUID?) throws -> [String] {
        try values.map { value in
            if value == "me" {
                guard let staff else {
                    throw refusal("The value me is allowed only if the caller is a staff member.", "createdBy")
                }
                return "staff:" + staff.uuidString.lowercased()
            }
            return UUID(uuidString: value).map { "staff:" + $0.uuidString.lowercased() } ?? value
        }
    }

    private static func labels(_ values: [String]) -> PostgresQuery {
        """
        (EXISTS (
            SELECT FROM analytics.ticket_label_uses AS u JOIN analytics.ticket_labels AS l ON l.id = u.label
            WHERE u.ticket = t.id AND lower(l.name) IN (SELECT lower(n) FROM unnest(\(values)) AS n))
        OR \(values.contains("none")) AND NOT EXISTS (SELECT FROM analytics.ticket_label_uses AS u WHERE u.ticket = t.id))
        """
    }

    private static func sprints(_ values: [String]) throws -> PostgresQuery {
        let numbers = try values.filter { !["none", "active"].contains($0) }.map { value in
            guard let number = Int32(value) else {
                throw refusal("Expected numbers of sprints, none or active.", "sprint")
            }
            return Int(number)
        }
        return """
            (t.sprint = ANY (\(numbers)) OR \(values.contains("none")) AND t.sprint IS NULL
            OR \(values.contains("active")) AND EXISTS (
                SELECT FROM analytics.ticket_sprints AS p WHERE p.space = t.space AND p.number = t.sprint AND p.state = 'active'))
            """
    }

    private static func issues(_ values: [String]) throws -> PostgresQuery {
        let numbers = try values.map { value in
            guard let number = Int32(value) else { throw refusal("Expected numbers of crash issues.", "issue") }
            return Int(number)
        }
        return """
            EXISTS (
                SELECT FROM analytics.ticket_issues AS a JOIN analytics.issues AS i ON i.id = a.issue
                WHERE a.ticket = t.id AND i.space = t.space AND (i.number = ANY (\(numbers)) OR i.id IN (
                    SELECT m.issue FROM analytics.merged_issues AS m WHERE m.space = t.space AND m.number = ANY (\(numbers)))))
            """
    }

    /// Searches the title, the description, the feedback and each comment for the text. A ticket's number also matches.
    private static func search(_ text: String, in space: Space) throws -> PostgresQuery {
        guard (1...TicketLimits.searchLength).contains(text.unicodeScalars.count),
            !text.unicodeScalars.contains(where: TicketInput.isControl)
        else {
            throw refusal(
                "Expected 1 to \(TicketLimits.searchLength) characters without control characters.", "search")
        }
        let number = TicketInput.ticketNumber(text.trimmingCharacters(in: CharacterSet(charactersIn: "# ")))
        return """
            (t.number = \(number ?? 0) OR t.id IN (
                SELECT w.id FROM analytics.tickets AS w WHERE w.space = \(space.id) AND w.words @@ analytics.ticket_query(\(text))
                UNION ALL
                SELECT f.ticket FROM analytics.ticket_feedback AS f WHERE f.words @@ analytics.ticket_query(\(text))
                UNION ALL
                SELECT c.ticket FROM analytics.ticket_comments AS c WHERE c.words @@ analytics.ticket_query(\(text))))
            """
    }
}
