import Foundation

/// Decodes `Codable` types from JSON, with the given tolerance.
struct JSONValueDecoder: Decoder {
    let json: JSON
    let codingPath: [any CodingKey]
    let tolerance: Tolerance
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    static func decode<Value: Decodable>(_ type: Value.Type, from json: JSON, tolerance: Tolerance) throws -> Value {
        do {
            return try JSONValueDecoder(json: json, codingPath: [], tolerance: tolerance).read(type)
        } catch let error as DecodingError {
            throw MartletError(decoding: type, error)
        }
    }

    private var converts: Bool { tolerance.contains(.convertingValues) }

    func at(_ key: any CodingKey, _ json: JSON) -> JSONValueDecoder {
        JSONValueDecoder(json: json, codingPath: codingPath + [key], tolerance: tolerance)
    }

    func mismatch(_ expected: String) -> DecodingError {
        let description = "expected \(expected), found \(json.kind)"
        return DecodingError.typeMismatch(JSON.self, .init(codingPath: codingPath, debugDescription: description))
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = json else { throw mismatch("an object") }
        return KeyedDecodingContainer(KeyedContainer<Key>(decoder: self, members: members))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        switch json {
        case .array(let elements): return UnkeyedContainer(decoder: self, elements: elements)
        case .null: throw mismatch("a list")
        default:
            guard converts else { throw mismatch("a list") }
            return UnkeyedContainer(decoder: self, elements: [json])
        }
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    /// Reads types without a JSON equivalent; all others decode themselves.
    func read<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let value: Any? =
            switch type {
            case is JSON.Type: json
            case is JSONNumber.Type: try number()
            case is Date.Type: try date()
            case is Data.Type: try bytes()
            case is URL.Type: try url()
            case is Decimal.Type: try decimal()
            default: nil
            }
        if let value = value as? Value { return value }
        return try Value(from: self)
    }

    func number() throws -> JSONNumber {
        switch json {
        case .number(let number): return number
        case .string(let text) where converts:
            guard let number = JSONNumber(text: text) else { throw mismatch("a number") }
            return number
        case .bool(let value) where converts: return JSONNumber(value ? 1 : 0)
        default: throw mismatch("a number")
        }
    }

    private func date() throws -> Date {
        guard let date = json.dateValue else { throw mismatch("a date") }
        return date
    }

    private func bytes() throws -> Data {
        guard let text = json["base64"]?.stringValue ?? json.stringValue, let data = Data(base64Encoded: text) else {
            throw mismatch("bytes in Base64")
        }
        return data
    }

    private func url() throws -> URL {
        guard let text = json.stringValue ?? json["url"]?.stringValue, let url = URL(string: text) else {
            throw mismatch("a URL")
        }
        return url
    }

    private func decimal() throws -> Decimal {
        guard let value = try number().decimal else { throw mismatch("a decimal number") }
        return value
    }

    func integer<Integer: FixedWidthInteger>() throws -> Integer {
        guard let value: Integer = try number().integer() else { throw mismatch("an \(Integer.self)") }
        return value
    }
}

extension JSONValueDecoder: IntegerDecodingContainer {
    func decodeNil() -> Bool { json.isNull }

    func decode(_ type: Bool.Type) throws -> Bool {
        switch json {
        case .bool(let value): return value
        case .number(let number) where converts && number == JSONNumber(0): return false
        case .number(let number) where converts && number == JSONNumber(1): return true
        case .string("true") where converts, .string("1") where converts: return true
        case .string("false") where converts, .string("0") where converts: return false
        default: throw mismatch("true or false")
        }
    }

    func decode(_ type: String.Type) throws -> String {
        switch json {
        case .string(let value): return value
        case .number(let number) where converts: return number.text
        case .bool(let value) where converts: return value ? "true" : "false"
        default: throw mismatch("a string")
        }
    }

    func decode(_ type: Double.Type) throws -> Double { try number().double }
    func decode(_ type: Float.Type) throws -> Float {
        guard let value = Float(try number().text) else { throw mismatch("a Float") }
        return value
    }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try read(type) }
}

private struct KeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: JSONValueDecoder
    let members: [String: JSON]
    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { members[key.stringValue]?.isNull ?? true }

    private func member(_ key: any CodingKey) throws -> JSONValueDecoder {
        guard let value = members[key.stringValue] else {
            throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "missing"))
        }
        return decoder.at(key, value)
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        let value = members[key.stringValue]
        if value == nil || value == .null, decoder.tolerance.contains(.fillingMissingFields),
            let empty = EmptyValue.of(type)
        {
            return empty
        }
        return try member(key).read(type)
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws
        -> KeyedDecodingContainer<Nested>
    {
        try member(key).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try member(key).unkeyedContainer()
    }
    func superDecoder() throws -> any Decoder { try member(NamedKey("super")) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }
}

private struct UnkeyedContainer: UnkeyedDecodingContainer {
    let decoder: JSONValueDecoder
    let elements: [JSON]
    var currentIndex = 0
    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    // Not inlined, because each number type calls it.
    @inline(never)
    private mutating func next() throws -> JSONValueDecoder {
        let key = NamedKey(index: currentIndex)
        guard !isAtEnd else {
            let context = DecodingError.Context(codingPath: codingPath + [key], debugDescription: "the list ends")
            throw DecodingError.valueNotFound(JSON.self, context)
        }
        currentIndex += 1
        return decoder.at(key, elements[currentIndex - 1])
    }

    mutating func decodeNil() -> Bool {
        guard !isAtEnd, elements[currentIndex].isNull else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next().read(type) }
    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws
        -> KeyedDecodingContainer<Nested>
    {
        try next().container(keyedBy: type)
    }
    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try next().unkeyedContainer() }
    mutating func superDecoder() throws -> any Decoder { try next() }
}

/// The values that replace missing fields.
enum EmptyValue {
    static func of<Value>(_ type: Value.Type) -> Value? {
        let value: Any? =
            switch type {
            case is String.Type: ""
            case is Bool.Type: false
            case let type as any FixedWidthInteger.Type: zero(type)
            case let type as any BinaryFloatingPoint.Type: zero(type)
            case is Decimal.Type: Decimal(0)
            default: nil
            }
        return value as? Value ?? collection(type)
    }

    static func collection<Value>(_ type: Value.Type) -> Value? {
        (type as? any EmptyCollection.Type).flatMap { $0.init() as? Value }
    }

    private static func zero<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Any { Integer(0) }
    private static func zero<Float: BinaryFloatingPoint>(_ type: Float.Type) -> Any { Float(0) }
}

private protocol EmptyCollection { init() }
extension Array: EmptyCollection {}
extension Set: EmptyCollection {}
extension Dictionary: EmptyCollection {}

extension JSON {
    /// The kind of value, for messages.
    var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "a list"
        case .object(let members): members["__type"]?.stringValue.map { "a \($0)" } ?? "an object"
        }
    }

    /// A date as the server stores it.
    static func date(_ date: Date) -> JSON { ["__type": "Date", "iso": .string(RFC3339.text(date))] }

    /// The date of a typed value or of RFC 3339 text.
    var dateValue: Date? { (self["iso"]?.stringValue ?? stringValue).flatMap(RFC3339.date) }
}
