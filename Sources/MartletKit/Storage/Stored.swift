public import Foundation

/// An object as it is stored: a value, its id, and what the server knows about it.
///
/// The value's properties can be used directly: `event.title` is `event.value.title`.
@dynamicMemberLookup
public struct Stored<Value: Storable>: Identifiable, Sendable {
    public let id: String
    public let created: Date
    public let updated: Date
    /// When the object was removed (``Storage/remove(_:)``); nil for objects that are not removed.
    public let removed: Date?
    /// 1 at first, and one more with each write.
    public let version: Int
    /// Who may see the object, within the collection's rules; nil: everyone.
    public var readers: [Grantee]?
    /// Who may change the object, within the collection's rules; nil: everyone.
    public var writers: [Grantee]?
    public var value: Value
    /// Everything that is stored, including fields that `Value` does not have.
    public let fields: JSON

    public subscript<Member>(dynamicMember path: KeyPath<Value, Member>) -> Member { value[keyPath: path] }

    public subscript<Member>(dynamicMember path: WritableKeyPath<Value, Member>) -> Member {
        get { value[keyPath: path] }
        set { value[keyPath: path] = newValue }
    }

    /// Reads an object from an answer of the server.
    ///
    /// - Throws: ``MartletError`` with the code ``MartletError/Code/undecodable``.
    public init(json: JSON, tolerance: Tolerance = .standard) throws {
        guard let id = json["_id"]?.stringValue, let version = json["_version"]?.intValue else {
            throw MartletError(.undecodable, "An object of \(Value.collection) has no id or version.")
        }
        self.id = id
        self.version = version
        created = json["created"]?.dateValue ?? .distantPast
        updated = json["updated"]?.dateValue ?? .distantPast
        removed = json["deleted"]?.dateValue
        readers = Grantee.list(json["_readers"])
        writers = Grantee.list(json["_writers"])
        fields = json
        do {
            value = try JSONValueDecoder.decode(Value.self, from: json, tolerance: tolerance)
        } catch let error as MartletError {
            throw MartletError(
                error.code, "Object \(id) of \(Value.collection): \(error.message)", field: error.field,
                underlyingError: error.underlyingError)
        }
    }

    /// The entity tag that the server gives this state of the object (`Rendering.entityTag` of the storage service).
    var entityTag: String { "\"\(version)-\(Int64((updated.timeIntervalSince1970 * 1_000).rounded()))\"" }
}

extension Stored: Equatable where Value: Equatable {
    public static func == (left: Self, right: Self) -> Bool {
        left.id == right.id && left.version == right.version && left.updated == right.updated
            && left.removed == right.removed && left.readers == right.readers && left.writers == right.writers
            && left.value == right.value
    }
}

extension Stored: Hashable where Value: Hashable {
    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(version)
        hasher.combine(value)
    }
}

extension Stored {
    /// The fields that differ from what is stored, as a change for the server. Fields that `Value` does not have are
    /// never part of it.
    func changes(tolerance: Tolerance) throws -> [String: JSON] {
        let stored = try JSONValueDecoder.decode(Value.self, from: fields, tolerance: tolerance)
        let before = try JSONValueEncoder.encode(stored, nilFields: .deleted).objectValue ?? [:]
        let now = try JSONValueEncoder.encode(value, nilFields: .deleted).objectValue ?? [:]
        var changes = now.filter { before[$0.key] != $0.value }
        for name in before.keys where now[name] == nil { changes[name] = ["__op": "Delete"] }
        if readers != Grantee.list(fields["_readers"]) { changes["_readers"] = Grantee.json(readers) }
        if writers != Grantee.list(fields["_writers"]) { changes["_writers"] = Grantee.json(writers) }
        return changes
    }
}

/// Somebody who may see or change an object or file.
public struct Grantee: Sendable, Hashable, RawRepresentable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public static let everyone = Grantee(rawValue: "*")
    public static func user(_ id: String) -> Grantee { Grantee(rawValue: id) }
    public static func user(_ user: User) -> Grantee { Grantee(rawValue: user.id) }
    public static func role(_ name: String) -> Grantee { Grantee(rawValue: "role:" + name) }

    static func list(_ json: JSON?) -> [Grantee]? {
        json?.arrayValue?.compactMap { $0.stringValue.map(Grantee.init(rawValue:)) }
    }

    static func json(_ list: [Grantee]?) -> JSON {
        list.map { .array($0.map { .string($0.rawValue) }) } ?? .null
    }
}
