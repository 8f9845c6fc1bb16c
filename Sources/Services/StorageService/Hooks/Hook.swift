import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// An address of an app's own server that is called before writes, after writes, for new files, or as a function.
struct Hook: Sendable, Equatable {
    enum Event: String, Codable, Sendable, CaseIterable {
        case beforeSave, afterSave, beforeDelete, afterDelete, function, scanFile

        var isAfter: Bool { self == .afterSave || self == .afterDelete }
        /// Whether the hook is called by `HookDelivery`, after the request that concerns it.
        var isDelivered: Bool { isAfter || self == .scanFile }
        var hasCollection: Bool { self != .function && self != .scanFile }
    }

    static let maximumPerSpace = 50
    static let timeoutRange = 100...10_000
    static let defaultTimeoutInMilliseconds = 5_000
    /// How long requests are also signed with the former secret after its replacement.
    static let formerSecretSeconds = 86_400

    var name: String
    var event: Event
    /// Nil for functions and scanners.
    var collection: String?
    var url: String
    var timeoutInMilliseconds: Int
    var isEnabled: Bool
    /// The callers of a function besides the master key.
    var callers: [String]
    /// The salts from which secrets are derived: the current one, then the former one while it is still used.
    var salts: [[UInt8]]
    var created: Date
    var updated: Date

    var timeout: Duration { .milliseconds(timeoutInMilliseconds) }

    /// Whether the identity may call the function.
    func isOpen(to identity: Identity) -> Bool {
        if identity == .master { return true }
        let own = identity.names
        return callers.contains { own.contains($0) || ($0 == "authenticated" && identity.userID != nil) }
    }

    static let columns: PostgresQuery = """
        h.name, h.event, h.collection, h.url, h.timeout_milliseconds, h.enabled, h.callers, h.salt,
        CASE WHEN h.former_until > now() THEN h.former_salt END, h.created, h.updated
        """

    /// - Parameter row: Must begin with `columns`.
    init(_ row: PostgresRow) throws {
        guard let event = Event(rawValue: try row.decode(1)) else {
            throw ServiceError(.internalError, cause: "an unknown event")
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

/// The JSON form of a hook in management calls. Never contains its secret.
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

    /// Validates everything but the address, which `HookClient` checks.
    ///
    /// - Throws: `invalid-body`, `invalid-name`, `limit-exceeded`, naming the field.
    func check() throws {
        if !event.hasCollection {
            guard collection == nil else {
                throw ServiceError(.invalidBody, "A hook with this event has no collection.", field: "collection")
            }
        } else {
            guard let collection else {
                throw ServiceError(.invalidBody, "This field is required.", field: "collection")
            }
            let name = try CollectionName(collection)
            if !event.isAfter { try name.requireOfApp() }
        }
        guard event == .function || callers == nil else {
            throw ServiceError(.invalidBody, "Only a function may have callers.", field: "callers")
        }
        let timeout = timeoutMilliseconds ?? Hook.defaultTimeoutInMilliseconds
        let range = Hook.timeoutRange
        guard range.contains(timeout) else {
            throw ServiceError(
                .invalidBody, "Expected a number from \(range.lowerBound) to \(range.upperBound), found \(timeout).",
                field: "timeoutMilliseconds")
        }
        let callers = callers ?? []
        guard callers.count <= Grantee.maximumListed else {
            throw ServiceError(
                .limitExceeded, "A list may have at most \(Grantee.maximumListed) entries.", field: "callers")
        }
        guard callers.allSatisfy({ $0 == "*" || $0 == "authenticated" || Grantee.isUserOrRole($0) }) else {
            throw ServiceError(
                .invalidBody, "A caller must be \"*\", \"authenticated\", a user's id or \"role:<name>\".",
                field: "callers")
        }
    }
}
