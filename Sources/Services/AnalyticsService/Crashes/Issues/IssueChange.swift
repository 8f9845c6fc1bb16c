import Foundation
import MartletAPI
import MartletCore
import MartletHTTP

/// What a person decides about issues.
enum IssueChange: Sendable, Equatable {
    /// - Parameter in: since when a report brings it back.
    case resolve(in: Fix)
    /// Until the time, or until there are so many more events or users than now; whichever comes first. All nil: for ever.
    case ignore(until: Date?, events: Int?, users: Int?)
    case reopen
    /// To a staff member, by id; nil: to nobody.
    case assign(UUID?)

    enum Fix: Sendable, Equatable {
        /// Whatever happens from now on.
        case now
        /// In releases newer than this one.
        case release(String)
        /// In releases newer than the newest there is.
        case nextRelease
    }

    private static let counts = 1...1_000_000_000

    /// The members of a body that this reads.
    static let fields: Set<String> = ["state", "release", "until", "events", "users", "assignee"]

    /// A new state, or another person to look after it: at least one of them.
    ///
    /// - Throws: `invalid-body` naming the field.
    static func list(_ body: BodyFields) throws -> [IssueChange] {
        var changes: [IssueChange] = []
        if let state = try state(body) { changes.append(state) }
        if let value = body["assignee"] {
            let id = try body.string("assignee").flatMap { UUID(uuidString: $0) }
            guard value == .null || id != nil else {
                throw HTTPProblem(.invalidBody, "It must be a staff member's id, or null.", field: "assignee")
            }
            changes.append(.assign(id))
        }
        guard !changes.isEmpty else { throw HTTPProblem(.invalidBody, "A state or an assignee is needed.", field: "state") }
        return changes
    }

    private static func state(_ body: BodyFields) throws -> IssueChange? {
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
                    throw HTTPProblem(.invalidBody, "It is a release's name or version, or \"next\".", field: "release")
                }
                return .resolve(in: .release(name))
            }
        case "ignored":
            let until = try body.time("until")
            if let until, !(Date()..<Date(timeIntervalSinceNow: 3_660 * 86_400)).contains(until) {
                throw HTTPProblem(.invalidBody, "It must be within the next ten years.", field: "until")
            }
            return .ignore(until: until, events: try body.integer("events", in: counts), users: try body.integer("users", in: counts))
        default: throw HTTPProblem(.invalidBody, "It is unresolved, ignored or resolved.", field: "state")
        }
    }

    private static func refuse(_ names: [String], of body: BodyFields, unless state: String) throws {
        for name in names where body[name] != nil {
            throw HTTPProblem(.invalidBody, "This goes with the state \(state) only.", field: name)
        }
    }
}
