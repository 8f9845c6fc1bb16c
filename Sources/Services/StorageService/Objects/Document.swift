import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// An object sent by a client: validated JSON text, and what the server must know about it.
///
/// The text is only decoded if it contains typed values or operations.
struct Document: Sendable {
    static let maximumSizeInBytes = 1 << 20
    static let maximumBatch = 1_000
    static let maximumBatchSizeInBytes = 16 << 20

    var json: PostgresJSON
    /// The `_id` in the body.
    let id: ObjectID?
    /// Whether the text contains system fields, which must not be stored.
    let hasSystemFields: Bool
    let readers: Listing
    let writers: Listing
    /// Top-level field → type. Fields that are null or removed have no type.
    var fields: [FieldName: String]
    /// The fields that the client writes, and how. A hook's document keeps those of its client.
    var touched: Touched
    /// Atomic operations and dotted keys, which `change` applies one by one; nil if the text only sets values.
    let operations: Operations?

    /// A list of readers or writers in a body.
    enum Listing: Sendable, Equatable {
        case absent
        /// null, which means everyone.
        case everyone
        case names([String])

        var names: [String]? { if case .names(let names) = self { names } else { nil } }
    }

    /// The top-level fields of a write.
    struct Touched: Sendable, Equatable {
        /// All fields that the write names.
        var written: Set<FieldName> = []
        /// Fields to which the rule `addField` applies: those that the write does not just remove.
        var added: Set<FieldName> = []
        /// Fields whose new value depends on the stored one: those with an operation or a dotted name.
        var operated: Set<FieldName> = []
        var operations: Operations?
        /// Whether it sets readers or writers.
        var setsLists = false

        /// Keeps the fields of the client's document when a hook's document replaces it: the app itself is responsible
        /// for how its hook changes fields that the client cannot see.
        mutating func keep(_ sent: Touched) {
            (written, operated, operations) = (sent.written, sent.operated, sent.operations)
            setsLists = sent.setsLists
        }

        /// Whether the document, or the client's document that a hook replaced, has one of these fields.
        func touches(anyOf names: Set<FieldName>) -> Bool {
            !written.isDisjoint(with: names) || !added.isDisjoint(with: names)
        }

        func without(_ names: Set<FieldName>) -> Touched {
            var rest = self
            rest.written.subtract(names)
            rest.added.subtract(names)
            rest.operated.subtract(names)
            return rest
        }
    }

    /// - Throws: `invalid-json`, `invalid-body`, `invalid-name`, `invalid-id`, `limit-exceeded`.
    init(_ body: ByteBuffer, allowingOperations: Bool = false) throws {
        let bytes = Array(body.readableBytesView)
        let members = try bytes.withUnsafeBufferPointer { bytes in
            try checked { () throws(JSONError) in try JSONText.members(of: bytes) }
        }
        let needsDecoding = bytes.mayHaveTypes || bytes.mayHaveOperations || members.contains { $0.name.holds(".") }
        guard needsDecoding else {
            let outline = try Outline(members, bytes)
            self.init(bytes, outline, operations: nil)
            return
        }
        let value = try checked { () throws(JSONError) in try JSONValue(parsing: bytes) }
        let operations = allowingOperations ? try Operations(value) : nil
        if !allowingOperations { try Operations.refuse(in: value) }
        let normalized = try operations?.normalized ?? TypedValue.normalized(document: value)
        let text = Array(normalized.text.utf8)
        let outline = try text.withUnsafeBufferPointer { text in
            try Outline(
                try checked { () throws(JSONError) in try JSONText.members(of: text) }, Array(text),
                areNamesPaths: operations != nil)
        }
        self.init(text, outline, operations: operations)
    }

    private init(_ bytes: [UInt8], _ outline: Outline, operations: Operations?) {
        json = PostgresJSON(bytes)
        id = outline.id
        hasSystemFields = outline.hasSystemFields
        readers = outline.readers
        writers = outline.writers
        // A field that is only removed does not become known. Otherwise `{"a.b":{"__op":"Delete"}}` would make `a`
        // known without permission to add fields.
        let deleted: Set<FieldName> = operations?.deleted ?? []
        fields = deleted.isEmpty ? outline.fields : outline.fields.filter { !deleted.contains($0.key) }
        touched = Touched(
            written: outline.names, added: deleted.isEmpty ? outline.names : outline.names.subtracting(deleted),
            operated: operations?.operated ?? [],
            operations: operations, setsLists: outline.readers != .absent || outline.writers != .absent)
        self.operations = operations
    }

    /// A document for the object `id`, which the body may also contain.
    ///
    /// - Throws: As `init`, and `invalid-id` if the body contains another id.
    init(_ body: ByteBuffer, replacing id: ObjectID, allowingOperations: Bool = false) throws {
        self = try Document(body, allowingOperations: allowingOperations)
        guard self.id == nil || self.id == id else {
            throw ServiceError(.invalidID, "The _id in the body differs from that in the path.", field: "_id")
        }
    }

    /// Whether the document of the object stays as it is, because only readers or writers change.
    var setsOnlyLists: Bool { operations == nil && touched.written.isEmpty && touched.added.isEmpty }

    /// The document to be stored, without system fields.
    var stored: PostgresQuery { hasSystemFields ? "(\(json) - \(SystemField.names))" : "\(json)" }
}

/// The objects of a bulk post.
struct Documents: Sendable {
    /// The text of the array.
    var json: PostgresJSON
    /// In order; nil where an id must be generated.
    let ids: [ObjectID?]
    /// Top-level field → types, over all objects.
    var fields: [FieldName: Set<String>]
    /// Over all objects.
    var touched = Document.Touched()

    /// - Throws: as `Document`, and `limit-exceeded` beyond `Document.maximumBatch`.
    init(_ body: ByteBuffer) throws {
        var bytes = Array(body.readableBytesView)
        if bytes.mayHaveTypes || bytes.mayHaveOperations { bytes = try Self.normalized(bytes) }
        var ids: [ObjectID?] = []
        var fields: [FieldName: Set<String>] = [:]
        var names: Set<FieldName> = []
        try Self.forEach(of: bytes) { members, _ in
            if let first = members.first, let last = members.last,
                last.value.upperBound - first.value.lowerBound > Document.maximumSizeInBytes
            {
                throw ServiceError(.payloadTooLarge, "An object may have at most \(Document.maximumSizeInBytes) bytes.")
            }
            let outline = try Outline(members, bytes)
            ids.append(outline.id)
            names.formUnion(outline.names)
            for (name, type) in outline.fields { fields[name, default: []].insert(type) }
            // Counts all names, because fields with null values use memory, too.
            guard names.count <= JSONLimits.maximumMembers else {
                throw ServiceError(
                    .limitExceeded,
                    "All objects together may have at most \(JSONLimits.maximumMembers) different field names.")
            }
        }
        self.touched = Document.Touched(written: names, added: names)
        self.json = PostgresJSON(bytes)
        self.ids = ids
        self.fields = fields
    }

    /// Passes each object's text to the closure, one after the other; the memory used for one is freed before the next.
    static func forEach(of bytes: [UInt8], _ object: ([JSONText.Member], Range<Int>) throws -> Void) throws {
        var failure: (any Error)?
        try bytes.withUnsafeBufferPointer { bytes in
            try checked { () throws(JSONError) in
                try JSONText.forEachElement(of: bytes, maximum: Document.maximumBatch) { members, range in
                    guard failure == nil else { return }
                    do { try object(members, range) } catch { failure = error }
                }
            }
        }
        if let failure { throw failure }
    }

    private static func normalized(_ bytes: [UInt8]) throws -> [UInt8] {
        var text: [UInt8] = [UInt8(ascii: "[")]
        text.reserveCapacity(bytes.count)
        try forEach(of: bytes) { _, range in
            let object = try checked { () throws(JSONError) in try JSONValue(parsing: bytes[range]) }
            try Operations.refuse(in: object)
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            text += try TypedValue.normalized(document: object).text.utf8
        }
        text.append(UInt8(ascii: "]"))
        return text
    }
}

/// Properties of the outermost level of an object's text.
private struct Outline {
    var id: ObjectID?
    var hasSystemFields = false
    var readers = Document.Listing.absent
    var writers = Document.Listing.absent
    var fields: [FieldName: String] = [:]
    /// Including names without a type.
    var names: Set<FieldName> = []

    init(_ members: [JSONText.Member], _ bytes: [UInt8], areNamesPaths: Bool = false) throws {
        for member in members {
            guard let field = SystemField(rawValue: member.name) else {
                try Self.check(name: member.name, isPath: areNamesPaths)
                let name = areNamesPaths ? FieldName(topOf: member.name) : FieldName(member.name)
                let isWhole = name.text.utf8.count == member.name.utf8.count
                names.insert(name)
                if let type = isWhole ? Self.type(bytes[member.value]) : "Object" { fields[name] = type }
                continue
            }
            hasSystemFields = true
            switch field {
            case .id:
                guard id == nil, case .string(let text) = try? JSONValue(parsing: bytes[member.value]) else {
                    throw ServiceError(.invalidID, "Expected a single _id that is a string.", field: "_id")
                }
                id = try ObjectID(text)
            case .readers: readers = try Self.listing(bytes[member.value], field.rawValue)
            case .writers: writers = try Self.listing(bytes[member.value], field.rawValue)
            case .created, .updated, .deleted, .version: break
            }
        }
    }

    /// Refuses names that a filter could not reference, and reserved names.
    private static func check(name: String, isPath: Bool) throws {
        let parts = isPath ? name.parts(between: ".") : [name]
        let isWellFormed =
            parts.count <= FieldPath.maximumParts
            && parts.allSatisfy { part in
                !part.isEmpty && part.utf8.count <= 128 && !part.begins(with: "$") && !part.holds(".")
            }
        guard isWellFormed, !name.begins(with: "_"), PostgresLiteral(name) != nil else {
            throw ServiceError(
                .invalidName,
                "A field's name must have 1 to 128 bytes, without dots, backslashes, control characters, or a leading $ or _.",
                field: String(name.prefix(128)))
        }
    }

    private static func listing(_ bytes: ArraySlice<UInt8>, _ field: String) throws -> Document.Listing {
        switch try? JSONValue(parsing: bytes) {
        case .null: return .everyone
        case .array(let elements):
            let names = elements.compactMap { if case .string(let name) = $0 { name } else { nil } }
            if names.count == elements.count { return .names(try Grantee.checked(names, field: field)) }
        default: break
        }
        throw ServiceError(.invalidBody, "Expected an array of strings, or null for everyone.", field: field)
    }

    private static func type(_ bytes: ArraySlice<UInt8>) -> String? {
        switch bytes.first {
        case UInt8(ascii: "\""): "String"
        case UInt8(ascii: "["):
            Array(bytes).mayHaveTypes ? (try? JSONValue(parsing: bytes)).flatMap(FieldType.name) : "Array"
        case UInt8(ascii: "t"), UInt8(ascii: "f"): "Boolean"
        case UInt8(ascii: "n"): nil
        case UInt8(ascii: "{"):
            Array(bytes).mayHaveTypes || Array(bytes).mayHaveOperations
                ? (try? JSONValue(parsing: bytes)).flatMap(FieldType.name) : "Object"
        default: "Number"
        }
    }
}

extension [UInt8] {
    /// Whether the text contains `"__type"`. If spelled with escapes, it is ordinary data.
    fileprivate var mayHaveTypes: Bool { has("\"__type\"") }
    fileprivate var mayHaveOperations: Bool { has("\"__op\"") }

    private func has(_ word: StaticString) -> Bool {
        withUnsafeBytes { text in
            var start = 0
            // Names with two underscores are rare, so a single pass of memchr is nearly always enough.
            while start < text.count,
                let found = memchr(text.baseAddress! + start, Int32(UInt8(ascii: "_")), text.count - start)
            {
                let position = text.baseAddress!.distance(to: UnsafeRawPointer(found))
                let fits = position > 0 && position - 1 + word.utf8CodeUnitCount <= text.count
                if fits, memcmp(text.baseAddress! + position - 1, word.utf8Start, word.utf8CodeUnitCount) == 0 {
                    return true
                }
                start = position + 1
            }
            return false
        }
    }
}

/// Runs the check of a part of a body. A problem names its field within that part.
func naming<T>(_ part: String, _ check: () throws -> T) throws -> T {
    do {
        return try check()
    } catch let problem as ServiceError {
        throw problem.within(part)
    }
}

/// Runs `body` and converts JSON errors into problems that name the position.
func checked<T>(_ body: () throws(JSONError) -> T) throws -> T {
    do {
        return try body()
    } catch {
        throw ServiceError(error)
    }
}
