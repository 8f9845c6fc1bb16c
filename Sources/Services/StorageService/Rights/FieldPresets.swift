import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// Fields that rules keep from clients: `set` has the values that the server gives to fields when a client creates or
/// updates an object, and fields in `immutable` keep the value with which an object was created.
///
/// `{"set":{"create":{"author":"$user.id"},"update":{"edits":{"__op":"Increment","amount":1}}},"immutable":["event"]}`
///
/// What clients send for such fields is ignored, as OData 4.01 does for read-only properties (Protocol, 11.4.3).
struct FieldPresets: Sendable, Equatable {
    private static let maximumFields = 50
    private static let maximumSizeInBytes = 16 << 10

    /// Top-level fields with their values: JSON, `$user.id`, `$now`, `$environment`, or the operation `Increment`.
    let create: [JSONValue.Member]
    let update: [JSONValue.Member]
    let immutable: [FieldName]
    /// The fields that only the server writes.
    let setByServer: Set<FieldName>
    /// The fields that keep their value when a client replaces an object.
    let kept: Set<FieldName>

    /// Nil if there are none.
    ///
    /// - Parameter body: The rules of a collection.
    /// - Throws: `invalid-body` naming the member, `limit-exceeded`.
    init?(_ body: BodyFields) throws {
        let set = body["set"].flatMap { $0 == .null ? nil : $0 }
        let members = try set.map { set in try naming("set") { try BodyFields(set, ["create", "update"]) } }
        create = try Self.values(members?["create"], "set.create")
        update = try Self.values(members?["update"], "set.update")
        let names = try body.strings("immutable") ?? []
        try Self.check(names, "immutable")
        immutable = names.map { FieldName($0) }
        setByServer = Set((create + update).map { FieldName($0.name) })
        kept = setByServer.union(immutable)
        guard !kept.isEmpty else { return nil }
    }

    private static func values(_ value: JSONValue?, _ field: String) throws -> [JSONValue.Member] {
        guard let value, value != .null else { return [] }
        guard case .object(let members) = value else {
            throw ServiceError(
                .invalidBody, "Expected an object of fields and their values, found \(value.phrase).", field: field)
        }
        try check(members.map(\.name), field)
        guard value.text.utf8.count <= maximumSizeInBytes else {
            throw ServiceError(
                .limitExceeded, "The values may have at most \(maximumSizeInBytes) bytes.", field: field)
        }
        return members
    }

    private static func check(_ names: [String], _ field: String) throws {
        guard names.count <= maximumFields else {
            throw ServiceError(.limitExceeded, "At most \(maximumFields) fields may be named.", field: field)
        }
        guard Set(names.map { FieldName($0) }).count == names.count else {
            throw ServiceError(.invalidBody, "A name occurs twice.", field: field)
        }
        for name in names {
            guard !name.begins(with: "_"), let path = try? FieldPath(name), path.parts.count == 1 else {
                throw ServiceError.unexpectedMember(field, expected: "the names of top-level fields", found: name)
            }
        }
    }

    /// The members of a collection's rules that `init` reads.
    var json: [JSONValue.Member] {
        let set = [("create", create), ("update", update)].filter { !$0.1.isEmpty }
        var members: [JSONValue.Member] = []
        if !immutable.isEmpty { members.append(.init("immutable", .array(immutable.map { .string($0.text) }))) }
        if !set.isEmpty { members.append(.init("set", .object(set.map { .init($0.0, .object($0.1)) }))) }
        return members
    }

    /// - Throws: `invalid-body` naming a value that is not allowed.
    func check() throws {
        // An arbitrary user, whose id may be needed in a Pointer.
        let context = ConditionContext(identity: .user("u", roles: []), environment: .live, states: .one)
        for (name, values) in [("create", create), ("update", update)] {
            for member in values {
                try naming("set.\(name)") { try Self.check(member, context) }
            }
        }
    }

    private static func check(_ member: JSONValue.Member, _ context: ConditionContext) throws {
        let resolved: JSONValue
        do {
            resolved = try value(of: member, context)
        } catch let problem as ServiceError {
            throw ServiceError(.invalidBody, problem.detail, field: member.name)
        }
        guard resolved["__op"] == nil || resolved["__op"] == .string("Increment") else {
            throw ServiceError(.invalidBody, "Increment is the only operation allowed here.", field: member.name)
        }
        _ = try Document(
            ByteBuffer(string: JSONValue.object([.init(member.name, resolved)]).text), allowingOperations: true)
    }

    // MARK: What the server writes

    /// A value with its variables replaced; null if it mentions the user and the caller is not signed in.
    private static func value(of member: JSONValue.Member, _ context: ConditionContext) throws -> JSONValue {
        guard context.identity.userID != nil || !member.value.mentions("$user.id") else { return .null }
        guard member.value == .string("$now") else { return try context.resolved(member.value, field: member.name) }
        return .object([.init("__type", .string("Date")), .init("iso", .string(Date().rfc3339))])
    }

    /// The values for one write, as the document of an update; nil for none.
    private static func document(_ members: [JSONValue.Member], _ context: ConditionContext) throws -> Document? {
        guard !members.isEmpty else { return nil }
        let values = try members.map { JSONValue.Member($0.name, try value(of: $0, context)) }
        return try Document(ByteBuffer(string: JSONValue.object(values).text), allowingOperations: true)
    }

    /// The presets that apply to one write by a client.
    struct Values: Sendable {
        let presets: FieldPresets
        let create: Document?
        let update: Document?

        /// A new object's document with the server's values.
        func creating(_ document: PostgresQuery) -> PostgresQuery { Self.adding(create, to: document) }

        /// The document of an object after an update with the server's values.
        func updating(_ document: PostgresQuery) -> PostgresQuery { Self.adding(update, to: document) }

        /// The document of a post, which is an update if there is a stored object.
        func putting(
            _ document: PostgresQuery, onto stored: PostgresQuery, if exists: PostgresQuery
        ) -> PostgresQuery {
            """
            (SELECT CASE WHEN \(exists) THEN \(replacing(stored, with: "sent.doc")) ELSE \(creating("sent.doc")) END \
            FROM (SELECT (\(document)) AS doc OFFSET 0) AS sent)
            """
        }

        /// The types of the fields that the server sets.
        var types: [FieldName: String] {
            (create?.fields ?? [:]).merging(update?.fields ?? [:]) { one, _ in one }
        }

        private static func adding(_ values: Document?, to document: PostgresQuery) -> PostgresQuery {
            guard let values else { return document }
            return values.operations == nil
                ? "(\(document)) || \(values.stored)" : "storage.apply(\(document), \(values.stored), FALSE)"
        }

        /// The document that replaces `old`; the fields in `kept` keep their values from `old`.
        func replacing(_ old: PostgresQuery, with document: PostgresQuery) -> PostgresQuery {
            let names = presets.kept.map(\.text).sorted()
            return updating("((\(document)) - \(names)::text[]) || \(Access.fields(names, of: old))")
        }
    }

    /// - Throws: as `check()`, for rules that were stored unchecked.
    func values(_ context: ConditionContext, creates: Bool, updates: Bool) throws -> Values {
        Values(
            presets: self, create: creates ? try Self.document(create, context) : nil,
            update: updates ? try Self.document(update, context) : nil)
    }
}

extension JSONValue {
    fileprivate func mentions(_ text: String) -> Bool {
        switch self {
        case .string(let own): own == text
        case .array(let elements): elements.contains { $0.mentions(text) }
        case .object(let members): members.contains { $0.value.mentions(text) }
        case .null, .bool, .number: false
        }
    }
}

extension Document {
    /// The same document without these top-level fields.
    func without(_ names: Set<FieldName>) throws -> Document {
        guard touched.touches(anyOf: names) else { return self }
        let isPath = operations != nil
        let text = try Self.text(of: json.bytes, without: names, areNamesPaths: isPath)
        var document = try Document(ByteBuffer(bytes: text), allowingOperations: isPath)
        // In a hook's document, these are the fields that its client sent.
        document.touched = touched.without(names)
        return document
    }

    fileprivate static func text(
        of bytes: some Collection<UInt8>, without names: Set<FieldName>, areNamesPaths: Bool
    ) throws -> [UInt8] {
        let bytes = Array(bytes)
        guard case .object(let members) = try checked({ () throws(JSONError) in try JSONValue(parsing: bytes) }) else {
            return bytes
        }
        let rest = members.filter { !names.contains(areNamesPaths ? FieldName(topOf: $0.name) : FieldName($0.name)) }
        return Array(JSONValue.object(rest).text.utf8)
    }
}

extension Documents {
    /// The same documents without these top-level fields.
    func without(_ names: Set<FieldName>) throws -> Documents {
        guard touched.touches(anyOf: names) else { return self }
        var text: [UInt8] = [UInt8(ascii: "[")]
        try Self.forEach(of: json.bytes) { _, range in
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            text += try Document.text(of: json.bytes[range], without: names, areNamesPaths: false)
        }
        text.append(UInt8(ascii: "]"))
        var documents = try Documents(ByteBuffer(bytes: text))
        documents.touched = touched.without(names)
        return documents
    }
}
