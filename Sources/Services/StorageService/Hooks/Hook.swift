import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// An address of an app's own server that is asked before, told after, or called.
struct Hook: Sendable, Equatable {
    enum Event: String, Codable, Sendable, CaseIterable {
        case beforeSave, afterSave, beforeDelete, afterDelete, function

        var isAfter: Bool { self == .afterSave || self == .afterDelete }
    }

    static let maximumPerSpace = 50
    static let timeoutRange = 100...10_000
    static let defaultTimeoutInMilliseconds = 5_000
    /// How long the former secret signs along after a new one was made.
    static let formerSecretSeconds = 86_400

    var name: String
    var event: Event
    /// Nil for functions.
    var collection: String?
    var url: String
    var timeoutInMilliseconds: Int
    var isEnabled: Bool
    /// Who may call a function, beside the master key.
    var callers: [String]
    /// What its secrets are made from: the one in force, then the former one while it signs along.
    var salts: [[UInt8]]
    var created: Date
    var updated: Date

    var timeout: Duration { .milliseconds(timeoutInMilliseconds) }

    /// Whether this one may call the function.
    func isOpen(to identity: Identity) -> Bool {
        if identity == .master { return true }
        let own = identity.names
        return callers.contains { own.contains($0) || ($0 == "authenticated" && identity.userID != nil) }
    }

    static let columns: PostgresQuery = """
        h.name, h.event, h.collection, h.url, h.timeout_milliseconds, h.enabled, h.callers, h.salt,
        CASE WHEN h.former_until > now() THEN h.former_salt END, h.created, h.updated
        """

    /// - Parameter row: begins with `columns`.
    init(_ row: PostgresRow) throws {
        guard let event = Event(rawValue: try row.decode(1)) else {
            throw HTTPProblem(.internalError, cause: "an unknown event")
        }
        name = try row.decode(0)
        self.event = event
        collection = try row.decode(2)
        url = try row.decode(3)
        timeoutInMilliseconds = try row.decode(4)
        isEnabled = try row.decode(5)
        callers = try row.decode(6)
        salts = [try row.decode(7)] + (try row.decode(8, as: [UInt8]?.self).map { [$0] } ?? [])
        created = try row.decode(9)
        updated = try row.decode(10)
    }
}

/// What the management calls take and tell of a hook. Never its secret.
struct HookBody: Codable, Sendable {
    var name: String?
    var event: Hook.Event
    var collection: String?
    var url: String
    var timeoutMilliseconds: Int?
    var enabled: Bool?
    var callers: [String]?
    var created: String?
    var updated: String?

    init(_ hook: Hook) {
        name = hook.name
        event = hook.event
        collection = hook.collection
        url = hook.url
        timeoutMilliseconds = hook.timeoutInMilliseconds
        enabled = hook.isEnabled
        callers = hook.event == .function ? hook.callers : nil
        created = Timestamps.text(hook.created)
        updated = Timestamps.text(hook.updated)
    }

    /// All but the address, which only the client can judge.
    ///
    /// - Throws: `invalid-body`, `invalid-name`, `limit-exceeded`, naming the field.
    func check() throws {
        if event == .function {
            guard collection == nil else {
                throw HTTPProblem(.invalidBody, "A function has no collection.", field: "collection")
            }
        } else {
            guard let collection else {
                throw HTTPProblem(.invalidBody, "This field is required.", field: "collection")
            }
            _ = try CollectionName(collection)
            guard callers == nil else {
                throw HTTPProblem(.invalidBody, "Only a function has callers.", field: "callers")
            }
        }
        guard Hook.timeoutRange.contains(timeoutMilliseconds ?? Hook.defaultTimeoutInMilliseconds) else {
            throw HTTPProblem(
                .invalidBody, "It is \(Hook.timeoutRange.lowerBound) to \(Hook.timeoutRange.upperBound).",
                field: "timeoutMilliseconds")
        }
        let callers = callers ?? []
        guard callers.count <= Grantee.maximumListed else {
            throw HTTPProblem(.limitExceeded, "At most \(Grantee.maximumListed) can be listed.", field: "callers")
        }
        guard callers.allSatisfy({ $0 == "*" || $0 == "authenticated" || Grantee.isUserOrRole($0) }) else {
            throw HTTPProblem(
                .invalidBody, "A caller is \"*\", \"authenticated\", a user's id or \"role:<name>\".", field: "callers")
        }
    }
}
