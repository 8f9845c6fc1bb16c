import Foundation
import MartletCore
import MartletHTTP
import MartletPostgres

/// The recipients of an action.
struct ActionRecipients: Sendable, Equatable {
    var users: [String] = []
    var channels: [String] = []
    var installations: [UUID] = []
    /// Users excluded from channels.
    var exceptUsers: [String] = []
    var audience: JSONValue?

    var isEmpty: Bool { users.isEmpty && channels.isEmpty && installations.isEmpty && audience == nil }
}

/// Resolves the recipients of rules, asking storage only once for each object and relation.
final class RecipientLookUp {
    private let storage: StorageClient
    private let space: Space
    private var objects: [StorageClient.Object: JSONValue] = [:]
    private var relations: [StorageClient.Relation: [String]] = [:]
    /// The users who have blocked each user.
    private var blockers: [String: [String]] = [:]

    /// - Parameter space: The space that all facts belong to.
    init(storage: StorageClient, space: Space) {
        self.storage = storage
        self.space = space
    }

    /// - Throws: `RuleFailure` for errors that the rule's owner must know; the errors of `ServiceCalls.post`.
    func recipients(_ recipients: Recipients, _ facts: Facts) async throws -> ActionRecipients {
        var found = ActionRecipients()
        var users: [String] = []
        for source in recipients.sources {
            switch source {
            case .field(let path): users += try await ids(at: path, facts)
            case .related(let path, let collection, let id):
                users += try await ids(at: path, of: collection, Self.ids(Facts.values(at: id, in: facts.json)))
            case .user(let id): users.append(try FilledText.fill(id, facts))
            case .channel(let text): found.channels.append(try FilledText.fill(text, facts))
            case .installation(let id): found.installations.append(id)
            case .audience(let json): found.audience = json
            }
        }
        var except: [String] = []
        for path in recipients.except { except += try await ids(at: path, facts) }
        var excluded = Set(except)
        // Excluding fewer users than requested would be worse than notifying no one.
        guard excluded.count <= Recipients.maximumUsers else {
            throw RuleFailure("More than \(Recipients.maximumUsers) users would be excluded.")
        }
        if !users.isEmpty || !found.channels.isEmpty {
            excluded.formUnion(try await blockers(of: facts.value(at: "actor")))
        }
        var seen: Set<String> = []
        found.users = users.filter { !excluded.contains($0) && seen.insert($0).inserted }
        found.exceptUsers = excluded.sorted()
        guard found.users.count <= Recipients.maximumUsers else {
            throw RuleFailure("More than \(Recipients.maximumUsers) users would be recipients.")
        }
        return found
    }

    /// The users who have blocked the actor. They are not notified of what the actor writes.
    private func blockers(of actor: JSONValue?) async throws -> [String] {
        guard case .string(let user)? = actor else { return [] }
        if let known = blockers[user] { return known }
        // A refusal is not the rule's fault, so it is tried again.
        let found = try await storage.blockers(of: user, in: space)
        blockers[user] = found
        return found
    }

    private func ids(at path: String, _ facts: Facts) async throws -> [String] {
        let values = Facts.values(at: path, in: facts.json)
        guard values.contains(where: Self.isRelation) else { return Self.ids(values) }
        let parts = path.split(separator: ".")
        guard parts.count == 2, parts[0] == "object" || parts[0] == "previous",
            case .string(let collection) = facts.value(at: "collection"),
            case .string(let id) = facts.value(at: "id")
        else { return [] }
        return try await members([.init(collection: collection, id: id, field: String(parts[1]))])
    }

    private func ids(at path: String, of collection: String, _ ids: [String]) async throws -> [String] {
        let field = String(path.prefix { $0 != "." })
        let keys = ids.filter(Self.isObjectID).map {
            StorageClient.Object(collection: collection, id: $0, keys: [field])
        }
        guard keys.count <= 500 else {
            throw RuleFailure("More than 500 objects of \(collection) would have to be read.")
        }
        let missing = keys.filter { objects[$0] == nil }
        if !missing.isEmpty {
            let found = try await reportingRefusals { try await storage.lookUp(missing, [], in: space).objects }
            for (key, object) in zip(missing, found) { objects[key] = object }
        }
        var users: [String] = []
        var relations: [StorageClient.Relation] = []
        for key in keys {
            let values = Facts.values(at: path, in: objects[key] ?? .null)
            if values.contains(where: Self.isRelation), path == field {
                relations.append(.init(collection: collection, id: key.id, field: field))
            } else {
                users += Self.ids(values)
            }
        }
        return users + (try await members(relations))
    }

    private func members(_ requested: [StorageClient.Relation]) async throws -> [String] {
        let missing = requested.filter { relations[$0] == nil }
        guard missing.count <= 100 else { throw RuleFailure("More than 100 relations would have to be read.") }
        if !missing.isEmpty {
            let found = try await reportingRefusals { try await storage.lookUp([], missing, in: space).relations }
            for (relation, members) in zip(missing, found) { relations[relation] = members }
        }
        return requested.flatMap { relations[$0] ?? [] }
    }

    /// A request that storage refuses is the rule's fault, so it is not retried.
    private func reportingRefusals<T>(_ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch ServiceCalls.Failure.status(let status, _) where (400..<500).contains(status) && status != 429 {
            throw RuleFailure(
                "The objects that name the recipients are too many or too large, or storage refused the request.")
        }
    }

    // MARK: Values

    /// The user ids in values: strings, and pointers to users. Leaves out what an `Audience` cannot contain.
    static func ids(_ values: [JSONValue]) -> [String] {
        values.compactMap { value in
            let id: JSONValue? = if case .object = value { value["objectId"] ?? value["_id"] } else { value }
            guard case .string(let text)? = id, (1...Audience.maximumNameLength).contains(text.utf8.count),
                !text.utf8.contains(0)
            else { return nil }
            return text
        }
    }

    private static func isRelation(_ value: JSONValue) -> Bool { value["__type"] == .string("Relation") }

    /// Whether storage accepts the id. A malformed id matches no object.
    private static func isObjectID(_ id: String) -> Bool {
        let first = id.utf8.first.map { $0 == UInt8(ascii: "_") || Self.isLetterOrDigit($0) } ?? false
        return first && id.utf8.count <= 128
            && id.utf8.allSatisfy { Self.isLetterOrDigit($0) || "_-.:@~".utf8.contains($0) }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}

/// The reason why a rule did not act, in words for its owner. A retry would not help.
struct RuleFailure: Error {
    var sentence: String

    init(_ sentence: String) {
        self.sentence = sentence
    }
}
