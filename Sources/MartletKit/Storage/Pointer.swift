/// A field that points to an object of another collection.
///
/// ```swift
/// struct Event: Storable {
///     static let collection = "Events"
///     var host: Pointer<Person>
/// }
/// let event = try await martlet.storage.first(Event.query().include(\.host))
/// event?.host.object?.name
/// ```
public struct Pointer<Target: Storable>: Sendable {
    public let id: String
    /// The object, if the query included it.
    public var object: Stored<Target>? { included?.object }

    /// A reference, because a type may point to itself.
    private let included: Included?

    private final class Included: Sendable {
        let object: Stored<Target>
        init(_ object: Stored<Target>) { self.object = object }
    }

    public init(id: String) {
        self.id = id
        included = nil
    }

    public init(_ object: Stored<Target>) {
        id = object.id
        included = Included(object)
    }

    var json: JSON { ["__type": "Pointer", "className": .string(Target.collection), "objectId": .string(id)] }
}

extension Pointer: Hashable {
    public static func == (left: Self, right: Self) -> Bool { left.id == right.id }
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

extension Pointer: Codable {
    private enum CodingKeys: String, CodingKey {
        case type = "__type"
        case className, objectId
        case id = "_id"
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if try container.decodeIfPresent(String.self, forKey: .type) == "Object",
            let decoder = decoder as? JSONValueDecoder
        {
            self.init(try Stored(json: decoder.json, tolerance: decoder.tolerance))
        } else {
            self.init(id: try container.decode(String.self, forKey: .objectId))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode("Pointer", forKey: .type)
        try container.encode(Target.collection, forKey: .className)
        try container.encode(id, forKey: .objectId)
    }
}

extension Pointer: Sampled {
    public static var samples: (Pointer, Pointer) { (Pointer(id: "a"), Pointer(id: "b")) }
}

/// A field with any number of objects of another collection, which are not part of the object: find them with
/// `isLinked(from:by:)` of ``Condition``, change them with ``Change/link(_:to:)``.
public struct Relation<Target: Storable>: Sendable, Hashable, Codable {
    private enum CodingKeys: String, CodingKey {
        case type = "__type"
        case className
    }

    /// Only used to distinguish samples, because all stored relations are equal.
    private var isOther = false

    public init() {}

    public init(from decoder: any Decoder) throws { _ = try decoder.container(keyedBy: CodingKeys.self) }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode("Relation", forKey: .type)
        try container.encode(Target.collection, forKey: .className)
    }
}

extension Relation: Sampled {
    public static var samples: (Relation, Relation) {
        var other = Relation()
        other.isOther = true
        return (Relation(), other)
    }
}

extension JSON {
    /// With pointers where a query included the objects.
    var withoutIncludedObjects: JSON {
        switch self {
        case .array(let elements): return .array(elements.map(\.withoutIncludedObjects))
        case .object(let members):
            if members["__type"] == "Object", let name = members["className"], let id = members["_id"] {
                return ["__type": "Pointer", "className": name, "objectId": id]
            }
            return .object(members.mapValues(\.withoutIncludedObjects))
        default: return self
        }
    }
}
