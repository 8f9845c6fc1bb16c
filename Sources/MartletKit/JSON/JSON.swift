public import Foundation

/// Any JSON value. Numbers keep their digits.
///
/// ```swift
/// let note: JSON = ["title": "Bread", "age": 20, "tags": ["a", "b"]]
/// note["title"]?.stringValue      // "Bread"
/// ```
public enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// The member with this name, or nil.
    public subscript(name: String) -> JSON? {
        get {
            // Does not use `objectValue`, which would retain the members: local queries spend most of their time here.
            guard case .object(let members) = self else { return nil }
            return members[name]
        }
        set {
            var members = objectValue ?? [:]
            members[name] = newValue
            self = .object(members)
        }
    }

    /// The element with this index, or nil.
    public subscript(index: Int) -> JSON? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    public var isNull: Bool { self == .null }

    public var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    public var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }

    public var arrayValue: [JSON]? {
        if case .array(let value) = self { value } else { nil }
    }

    public var objectValue: [String: JSON]? {
        if case .object(let value) = self { value } else { nil }
    }

    public var numberValue: JSONNumber? {
        if case .number(let value) = self { value } else { nil }
    }

    /// The number as an `Int`, if it is one without a fraction.
    public var intValue: Int? { numberValue?.integer() }

    public var doubleValue: Double? { numberValue?.double }

    /// - Throws: ``MartletError`` with the code ``MartletError/Code/invalidJSON``, whose message names the byte.
    public init(parsing data: Data) throws {
        self = try JSONReader.read(data)
    }

    /// Encodes a `Codable` value, with dates, places and pointers as the server stores them.
    public init<Value: Encodable>(encoding value: Value) throws {
        self = try JSONValueEncoder.encode(value, nilFields: .omitted)
    }

    /// Decodes the value as a `Codable` type.
    public func decoded<Value: Decodable>(as type: Value.Type, tolerance: Tolerance = .standard) throws -> Value {
        try JSONValueDecoder.decode(type, from: self, tolerance: tolerance)
    }

    /// JSON text, with the members of objects in the order of their names.
    public var data: Data { JSONWriter.data(self) }

    /// JSON text, with the members of objects in the order of their names.
    public var text: String { String(decoding: JSONWriter.data(self), as: UTF8.self) }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int) { self = .number(JSONNumber(value)) }
    public init(floatLiteral value: Double) { self = JSONNumber(value).map(JSON.number) ?? .null }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(nilLiteral: ()) { self = .null }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    // Inlined, it would be some hundred bytes at each of a hundred literals.
    @inline(never)
    public init(dictionaryLiteral members: (String, JSON)...) {
        self = .object(Dictionary(members) { _, last in last })
    }
}

extension JSON: CustomStringConvertible {
    public var description: String { text }
}

extension JSON: Codable {
    public init(from decoder: any Decoder) throws {
        if let decoder = decoder as? JSONValueDecoder {
            self = decoder.json
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .number(JSONNumber(value))
        } else if let value = try? container.decode(Decimal.self) {
            self = .number(JSONNumber(value))
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
