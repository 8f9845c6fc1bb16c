import Foundation
import MartletAPI
import MartletCore
import MartletHTTP

/// A decision about issues.
enum IssueChange: Sendable, Equatable {
    /// - Parameter in: The releases from which a report reopens the issue.
    case resolve(in: Fix)
    /// Ignores the issue until the time, or until it has this many more events or users, whichever comes first. If all
    /// are nil, ignores it forever.
    case ignore(until: Date?, events: Int?, users: Int?)
    case reopen
    /// Assigns the issue to a staff member, by id; nil removes the assignee.
    case assign(UUID?)

    enum Fix: Sendable, Equatable {
        /// Any later report reopens the issue.
        case now
        /// Only releases newer than this one reopen it.
        case release(String)
        /// Only releases newer than the newest known one reopen it.
        case nextRelease
    }

    private static let counts = 1...1_000_000_000

    /// The fields of a body that `list` reads.
    static let fields: Set<String> = ["state", "release", "until", "events", "users", "assignee"]

    /// The changes that a body requests: a new state, a new assignee, or both.
    ///
    /// - Parameter now: The time from which `until` is limited.
    /// - Throws: `invalid-body` naming the field.
    static func list(_ body: BodyFields, at now: Date) throws -> [IssueChange] {
        var changes: [IssueChange] = []
        if let state = try state(body, at: now) { changes.append(state) }
        if let value = body["assignee"] {
            let id = try body.string("assignee").flatMap { UUID(uuidString: $0) }
            guard value == .null || id != nil else {
                throw ServiceError(.invalidBody, "Expected a staff member's id, or null.", field: "assignee")
            }
            changes.append(.assign(id))
        }
        guard !changes.isEmpty else {
            throw ServiceError(.invalidBody, "A state or an assignee is required.", field: "state")
        }
        return changes
    }

    private static func state(_ body: BodyFields, at now: Date) throws -> IssueChange? {
        let state = try body.string("state")
        if state != "resolved" { try refuse(["release"], of: body, unless: "resolved") }
        if state != "ignored" { try refuse(["until", "events", "users"], of: body, unless: "ignored") }
        switch state {
        case nil: return nil
        case "unresolved": return .reopen
        case "resolved":
            switch try body.string("release") {
            case nil: return .resolve(in: .now)
            case "next": return .resolve(in: .nextRelease)
            case let name?:
                guard (1...250).contains(name.utf8.count), !name.utf8.contains(0) else {
                    throw ServiceError(
                        .invalidBody, "Expected a release's name or version of at most 250 bytes, or \"next\".",
                        field: "release")
                }
                return .resolve(in: .release(name))
            }
        case "ignored":
            let until = try body.time("until")
            if let until, !(now..<now.addingTimeInterval(3_660 * 86_400)).contains(until) {
                throw ServiceError(.invalidBody, "Expected a time within the next ten years.", field: "until")
            }
            return .ignore(
                until: until, events: try body.integer("events", in: counts),
                users: try body.integer("users", in: counts))
        case let text?:
            throw ServiceError.unexpectedMember(
                "state", expected: "unresolved, ignored or resolved", found: text)
        }
    }

    private static func refuse(_ names: [String], of body: BodyFields, unless state: String) throws {
        for name in names where body[name] != nil {
            throw ServiceError(.invalidBody, "This field is only allowed with the state \(state).", field: name)
        }
    }
}
