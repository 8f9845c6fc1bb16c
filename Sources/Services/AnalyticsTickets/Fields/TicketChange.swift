import Foundation
import MartletAPI
import MartletCore
import MartletHTTP

/// A requested change of a ticket; nil leaves a field as it is.
struct TicketChange: Sendable {
    static let fields: Set<String> = [
        "type", "status", "priority", "title", "description", "assignee", "appVersion", "sprint", "estimate", "labels",
    ]

    var type: TicketType?
    var status: TicketStatus?
    var priority: TicketPriority?
    var title: String?
    var description: String?
    /// `.some(nil)` removes the assignee.
    var assignee: UUID??
    var appVersion: String??
    /// The number of a sprint; `.some(nil)` moves the ticket to the backlog.
    var sprint: Int??
    /// The estimated work, in the team's own unit; `.some(nil)` removes it.
    var estimate: Int??
    /// The names of all labels that the ticket will have.
    var labels: [String]?

    init() {}

    /// - Parameter staff: The staff member that `me` stands for, if any.
    /// - Throws: `invalid-body` naming the field.
    init(_ fields: BodyFields, staff: UUID?) throws {
        type = try TicketInput.choice(fields, "type", TicketType.self)
        status = try TicketInput.choice(fields, "status", TicketStatus.self)
        priority = try TicketInput.choice(fields, "priority", TicketPriority.self)
        title = try TicketInput.line(fields, "title", upTo: TicketLimits.titleLength)
        if fields["title"] != nil, title == nil {
            throw ServiceError(.invalidBody, "Expected a title, found null.", field: "title")
        }
        if fields["description"] != nil {
            description = try TicketInput.text(fields, "description", upTo: TicketLimits.descriptionLength) ?? ""
        }
        if fields["assignee"] != nil { assignee = .some(try Self.assignee(fields, staff)) }
        if fields["appVersion"] != nil { appVersion = .some(try TicketInput.line(fields, "appVersion", upTo: 64)) }
        if fields["sprint"] != nil { sprint = .some(try TicketInput.number(fields, "sprint")) }
        if fields["estimate"] != nil { estimate = .some(try fields.integer("estimate", in: 0...TicketLimits.estimate)) }
        if fields["labels"] != nil { labels = try Self.labels(fields) }
    }

    private static func assignee(_ fields: BodyFields, _ staff: UUID?) throws -> UUID? {
        guard let text = try fields.string("assignee") else { return nil }
        guard let id = text == "me" ? staff : UUID(uuidString: text) else {
            throw ServiceError(
                .invalidBody, "Expected the id of a staff member, or \"me\" if the caller is a staff member.",
                field: "assignee")
        }
        return id
    }

    private static func labels(_ fields: BodyFields) throws -> [String] {
        let names = try fields.strings("labels", upTo: TicketLimits.labelsOfTicket) ?? []
        guard Set(names.map { $0.lowercased() }).count == names.count else {
            throw ServiceError(.invalidBody, "A label occurs twice.", field: "labels")
        }
        return names
    }
}

/// The fields of a ticket's row that changes need.
struct TicketRow: Sendable {
    let id: Int64
    let number: Int
    var type: TicketType
    var status: TicketStatus
    var priority: TicketPriority
    var title: String
    var description: String
    var assignee: UUID?
    var appVersion: String?
    var sprint: Int?
    var estimate: Int?
    var position: String
    var revision: Int64
    let isDeleted: Bool
    /// Sorted by name.
    var labels: [String]
}

/// A change of one field, as recorded in the history.
struct TicketFieldChange: Sendable {
    var field: String
    var before: JSONValue
    var after: JSONValue
}

extension TicketRow {
    /// Applies the change and returns the fields that differ.
    ///
    /// - Parameter labels: The labels' names as stored, sorted; nil leaves the labels as they are.
    mutating func apply(_ change: TicketChange, labels newLabels: [String]?) -> [TicketFieldChange] {
        var changes: [TicketFieldChange] = []
        func set<Value: Equatable>(_ field: String, _ old: inout Value, _ new: Value?, _ json: (Value) -> JSONValue) {
            guard let new, new != old else { return }
            changes.append(TicketFieldChange(field: field, before: json(old), after: json(new)))
            old = new
        }
        set("type", &type, change.type) { .string($0.rawValue) }
        set("status", &status, change.status) { .string($0.rawValue) }
        set("priority", &priority, change.priority) { .string($0.rawValue) }
        set("title", &title, change.title) { .string($0) }
        set("description", &description, change.description) { .string(Self.beginning(of: $0)) }
        set("assignee", &assignee, change.assignee) { $0.map { JSONValue.string($0.uuidString.lowercased()) } ?? .null }
        set("appVersion", &appVersion, change.appVersion) { $0.map { JSONValue.string($0) } ?? .null }
        set("sprint", &sprint, change.sprint) { $0.map { JSONValue.number(String($0)) } ?? .null }
        set("estimate", &estimate, change.estimate) { $0.map { JSONValue.number(String($0)) } ?? .null }
        set("labels", &labels, newLabels) { .array($0.map { JSONValue.string($0) }) }
        return changes
    }

    /// The beginning of a text. With full texts, the history would outgrow the tickets.
    private static func beginning(of text: String) -> String {
        text.unicodeScalars.count <= 4_000
            ? text : String(String.UnicodeScalarView(text.unicodeScalars.prefix(4_000))) + "…"
    }
}
