import MartletAPI
import MartletCore

/// The atomic operations in a body, `{"score":{"__op":"Increment","amount":1}}`, in the form that `storage.apply`
/// executes.
///
/// As in the Parse protocol: Increment, SetOnInsert, Add, AddUnique, Remove, Delete, AddRelation, RemoveRelation, and
/// Batch of the last two. Keys may be dotted; other values are set.
struct Operations: Sendable, Equatable {
    static let maximumOperations = 100
    static let maximumObjects = 1_000

    /// The body after validating every operation and normalizing typed values.
    private(set) var normalized: JSONValue
    private(set) var added: [Member] = []
    private(set) var removed: [Member] = []
    /// The top-level fields whose new value depends on the stored one.
    let operated: Set<FieldName>
    /// The fields among `operated` that are only removed.
    let deleted: Set<FieldName>

    /// A member of a relation.
    struct Member: Sendable, Hashable {
        let key: String
        let collection: String
        let id: String
    }

    /// Nil if the body has neither operations nor dotted keys.
    ///
    /// - Throws: `invalid-body`, `unknown-operator`, `limit-exceeded`, naming the field.
    init?(_ body: JSONValue) throws {
        guard case .object(let members) = body else { return nil }
        guard members.contains(where: { $0.name.holds(".") || $0.value["__op"] != nil }) else {
            try Self.refuseNested(body, field: nil)
            return nil
        }
        normalized = .null
        guard Set(members.map { FieldName($0.name) }).count == members.count else {
            throw ServiceError(.invalidBody, "A field occurs twice.")
        }
        operated = Set(
            members.filter { $0.name.holds(".") || $0.value["__op"] != nil }.map { FieldName(topOf: $0.name) })
        let isDeletion = { (member: JSONValue.Member) in member.value["__op"] == .string("Delete") }
        deleted = Set(members.filter(isDeletion).map { FieldName(topOf: $0.name) })
            .subtracting(members.filter { !isDeletion($0) }.map { FieldName(topOf: $0.name) })
        var checked: [JSONValue.Member] = []
        var operations = 0
        for member in members {
            if member.value["__op"] != nil { operations += 1 }
            checked.append(.init(member.name, try check(member.value, key: member.name)))
        }
        guard operations <= Self.maximumOperations else {
            throw ServiceError(.limitExceeded, "A body may have at most \(Self.maximumOperations) operations.")
        }
        try Self.refuseOverlap(members.map(\.name))
        normalized = .object(checked)
    }

    /// - Throws: `invalid-body` if a document that is stored unchanged contains an operation.
    static func refuse(in document: JSONValue) throws {
        guard case .object(let members) = document else { return }
        for member in members {
            guard member.value["__op"] == nil else {
                throw refusal("Operations are only allowed in POST of one object and in PATCH.", member.name)
            }
            try refuseNested(member.value, field: member.name)
        }
    }

    /// Refuses dotted keys of which one contains the other, because the result would depend on their order.
    private static func refuseOverlap(_ names: [String]) throws {
        let all = Set(names.map { FieldName($0) })
        for name in names where name.holds(".") {
            let parts = name.parts(between: ".")
            for count in 1..<parts.count where all.contains(FieldName(parts.prefix(count).joined(separator: "."))) {
                throw ServiceError(
                    .invalidBody, "A field in the body is nested in another field of the body.", field: name)
            }
        }
    }

    private static func refuseNested(_ value: JSONValue, field: String?) throws {
        switch value {
        case .array(let elements): for element in elements { try refuseNested(element, field: field) }
        case .object(let members):
            guard field == nil || value["__op"] == nil else {
                throw ServiceError(
                    .invalidBody, "Operations must be at the top level, with a dotted name for a nested field.",
                    field: field)
            }
            for member in members { try refuseNested(member.value, field: field ?? member.name) }
        default: break
        }
    }

    private mutating func check(_ value: JSONValue, key: String) throws -> JSONValue {
        guard let operation = value["__op"] else {
            try Self.refuseNested(value, field: key)
            return try TypedValue.normalized(value, field: key)
        }
        guard case .string(let name) = operation else { throw Self.refusal("__op must be a string.", key) }
        switch name {
        case "Delete": return Self.operation(name, [])
        case "Increment":
            guard case .number = value["amount"], let amount = value["amount"] else {
                throw Self.refusal("Increment requires an \"amount\", a number.", key)
            }
            return Self.operation(name, [.init("amount", amount)])
        case "SetOnInsert":
            guard let amount = value["amount"] else {
                throw Self.refusal("SetOnInsert requires an \"amount\", the value.", key)
            }
            return Self.operation(name, [.init("amount", try TypedValue.normalized(amount, field: key))])
        case "Add", "AddUnique", "Remove":
            let objects = try Self.objects(value, name, key).map { try TypedValue.normalized($0, field: key) }
            return Self.operation(name, [.init("objects", .array(objects))])
        case "AddRelation", "RemoveRelation": return try relation([(name, value)], key: key)
        case "Batch":
            guard case .array(let parts) = value["ops"], !parts.isEmpty, parts.count <= 10 else {
                throw Self.refusal("Batch requires \"ops\", 1 to 10 relation operations.", key)
            }
            return try relation(
                try parts.map { part in
                    guard case .string(let name) = part["__op"], name == "AddRelation" || name == "RemoveRelation"
                    else {
                        throw Self.refusal("Batch requires \"ops\", 1 to 10 relation operations.", key)
                    }
                    return (name, part)
                }, key: key)
        default: throw ServiceError(.unknownOperator, "The operation \"\(name.prefix(40))\" is not known.", field: key)
        }
    }

    private mutating func relation(_ parts: [(name: String, value: JSONValue)], key: String) throws -> JSONValue {
        guard !key.holds(".") else { throw Self.refusal("A relation must be a top-level field.", key) }
        var className: String?
        for part in parts {
            for object in try Self.objects(part.value, part.name, key) {
                guard case .string("Pointer") = try TypedValue.normalized(object, field: key)["__type"],
                    case .string(let collection) = object["className"], case .string(let id) = object["objectId"],
                    className == nil || className == collection
                else { throw Self.refusal("A relation's objects must be Pointers into one collection.", key) }
                className = collection
                let member = Member(key: key, collection: collection, id: id)
                if part.name == "AddRelation" {
                    removed.removeAll { $0 == member }
                    added.append(member)
                } else {
                    added.removeAll { $0 == member }
                    removed.append(member)
                }
            }
        }
        guard let className else { throw Self.refusal("An operation on a relation requires at least one object.", key) }
        return Self.operation("AddRelation", [.init("className", .string(className))])
    }

    private static func objects(_ value: JSONValue, _ name: String, _ key: String) throws -> [JSONValue] {
        guard case .array(let objects) = value["objects"] else {
            throw refusal("\(name) requires \"objects\", a list.", key)
        }
        guard objects.count <= maximumObjects else {
            throw ServiceError(.limitExceeded, "\(name) may have at most \(maximumObjects) objects.", field: key)
        }
        return objects
    }

    private static func operation(_ name: String, _ members: [JSONValue.Member]) -> JSONValue {
        .object([.init("__op", .string(name))] + members)
    }

    private static func refusal(_ detail: String, _ field: String) -> ServiceError {
        ServiceError(.invalidBody, detail, field: field)
    }
}
