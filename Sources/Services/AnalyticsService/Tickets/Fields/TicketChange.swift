import Foundation
import MartletAPI
import MartletCore
import MartletHTTP

/// What somebody wants a ticket to be: of a field that is nil nothing is said.
struct TicketChange: Sendable {
    static let fields: Set<String> = [
        "type", "status", "priority", "title", "description", "assignee", "appVersion", "sprint", "estimate", "labels",
    ]

    var type: TicketType?
    var status: TicketStatus?
    var priority: TicketPriority?
    var title: String?
    var description: String?
    /// `.some(nil)`: nobody.
    var assignee: UUID??
    var appVersion: String??
    /// A number; `.some(nil)`: none, which is the backlog.
    var sprint: Int??
    /// Of the work, in whatever the team counts; `.some(nil)`: none.
    var estimate: Int??
    /// All names that it shall have.
    var labels: [String]?

    init() {}

    /// - Parameter staff: who `me` is; nil: nobody.
    /// - Throws: `invalid-body` naming the field.
    init(_ fields: BodyFields, staff: UUID?) throws {
        type = try TicketInput.choice(fields, "type", TicketType.self)
        status = try TicketInput.choice(fields, "status", TicketStatus.self)
        priority = try TicketInput.choice(fields, "priority", TicketPriority.self)
        title = try TicketInput.line(fields, "title", upTo: TicketLimits.title)
        if fields["title"] != nil, title == nil {
            throw HTTPProblem(.invalidBody, "A ticket has a title.", field: "title")
        }
        if fields["description"] != nil {
            description = try TicketInput.text(fields, "description", upTo: TicketLimits.description) ?? ""
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
            throw HTTPProblem(
                .invalidBody, "This is the id of a staff member, or \"me\" where one asks.", field: "assignee")
        }
        return id
    }

    private static func labels(_ fields: BodyFields) throws -> [String] {
        let names = try fields.strings("labels", upTo: TicketLimits.labelsOfTicket) ?? []
        guard Set(names.map { $0.lowercased() }).count == names.count else {
            throw HTTPProblem(.invalidBody, "One label is there twice.", field: "labels")
        }
        return names
    }
}

/// A ticket's row, as far as changes need it.
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
    /// By name.
    var labels: [String]
}

/// A change of one field, for the history.
struct TicketFieldChange: Sendable {
    var field: String
    var before: JSONValue
    var after: JSONValue
}

extension TicketRow {
    /// Makes the change and says what became different.
    ///
    /// - Parameter labels: the names as the labels have them, in order; nil: nothing is said of them.
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

    /// The history would become larger than the tickets with all of a long text.
    private static func beginning(of text: String) -> String {
        text.unicodeScalars.count <= 4_000
            ? text : String(String.UnicodeScalarView(text.unicodeScalars.prefix(4_000))) + "…"
    }
}
