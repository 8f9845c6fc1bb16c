import Foundation
import MartletAPI
import MartletCore

/// Decodes a JSON body into a Swift type and refuses members that the type does not read.
///
/// A member that no initializer has requested counts as unknown, at every level, so a type only declares its
/// properties. Absent or null members are nil. Integer types accept whole numbers only; times are RFC 3339.
struct BodyDecoder: Decoder {
    /// - Throws: `invalid-body`, naming the field.
    static func decode<Value: Decodable>(_ type: Value.Type, from value: JSONValue) throws -> Value {
        try decode(type, from: value, at: [])
    }

    private let value: JSONValue
    private let path: [String]
    private let requested = RequestedNames()

    var codingPath: [any CodingKey] { path.map(BodyKey.init) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    fileprivate static func decode<Value: Decodable>(_ type: Value.Type, from value: JSONValue, at path: [String])
        throws -> Value
    {
        if let literal = Value.self as? any BodyLiteral.Type {
            guard let read = literal.init(body: value) as? Value else { throw mismatch(literal.expected, value, path) }
            return read
        }
        let decoder = BodyDecoder(value: value, path: path)
        do {
            let read = try Value(from: decoder)
            try decoder.refuseUnknown()
            return read
        } catch is DecodingError {
            // Thrown by an initializer that interprets the value, such as an enum's.
            throw ServiceError(
                .invalidBody, "This value is not one of the allowed values.", field: path.joined(separator: "."))
        }
    }

    fileprivate static func mismatch(_ expected: String, _ value: JSONValue, _ path: [String]) -> ServiceError {
        let field = path.isEmpty ? nil : path.joined(separator: ".")
        // A number in place of a string is not quoted: it may be a password or a code that was sent without quotes.
        let found = expected == String.expected ? value.kind.phrase : value.phrase
        return ServiceError(.invalidBody, "Expected \(expected), found \(found).", field: field)
    }

    private init(value: JSONValue, path: [String]) {
        self.value = value
        self.path = path
    }

    private func refuseUnknown() throws {
        guard case .object(let members) = value, !requested.isEverything else { return }
        for member in members where !requested.contains(member.name) { throw unknown(member.name) }
    }

    private func unknown(_ name: String) -> ServiceError {
        ServiceError.unknownMember(name, in: path.isEmpty ? nil : path.joined(separator: "."), known: requested.names)
    }

    /// The error for a missing required member, which may just be misspelled.
    fileprivate func missing(_ name: String) -> ServiceError {
        if case .object(let members) = value {
            // A body can have very many members, and each comparison takes time.
            let strays = members.map(\.name).filter { !requested.contains($0) }.prefix(100)
            if let stray = NearMiss.suggestion(for: name, among: strays) { return unknown(stray) }
        }
        return ServiceError(.invalidBody, "This field is required.", field: (path + [name]).joined(separator: "."))
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = value else { throw Self.mismatch("a JSON object", value, path) }
        let values = Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first }
        return KeyedDecodingContainer(Members<Key>(decoder: self, values: values, path: path, requested: requested))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw Self.mismatch("an array", value, path) }
        return Elements(elements: elements, path: path)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        requested.isEverything = true
        return Single(value: value, path: path)
    }

    /// The member names that an initializer has requested.
    fileprivate final class RequestedNames {
        var names = Set<String>()
        /// Set for dictionaries, whose member names are arbitrary.
        var isEverything = false

        func contains(_ name: String) -> Bool {
            names.firstIndex(of: name).map { names[$0].hasSameBytes(as: name) } ?? false
        }
    }

    private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let decoder: BodyDecoder
        let values: [String: JSONValue]
        let path: [String]
        let requested: RequestedNames

        var codingPath: [any CodingKey] { path.map(BodyKey.init) }

        var allKeys: [Key] {
            requested.isEverything = true
            return values.keys.compactMap { Key(stringValue: $0) }
        }

        func contains(_ key: Key) -> Bool { value(key) != nil }

        func decodeNil(forKey key: Key) -> Bool { value(key) == .null }

        func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
            guard let value = value(key) else { throw decoder.missing(key.stringValue) }
            return try BodyDecoder.decode(type, from: value, at: path + [key.stringValue])
        }

        private func value(_ key: Key) -> JSONValue? {
            requested.names.insert(key.stringValue)
            return values[key.stringValue]
        }

        func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws
            -> KeyedDecodingContainer<Nested>
        {
            try superDecoder(forKey: key).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try superDecoder(forKey: key).unkeyedContainer()
        }

        func superDecoder() throws -> any Decoder { decoder }

        func superDecoder(forKey key: Key) throws -> any Decoder {
            guard let value = value(key) else { throw decoder.missing(key.stringValue) }
            return BodyDecoder(value: value, path: path + [key.stringValue])
        }
    }

    private struct Elements: UnkeyedDecodingContainer {
        let elements: [JSONValue]
        let path: [String]
        var currentIndex = 0

        init(elements: [JSONValue], path: [String]) {
            self.elements = elements
            self.path = path
        }

        var codingPath: [any CodingKey] { path.map(BodyKey.init) }
        var count: Int? { elements.count }
        var isAtEnd: Bool { currentIndex == elements.count }

        private mutating func next() throws -> (value: JSONValue, path: [String]) {
            guard !isAtEnd else {
                throw ServiceError(.invalidBody, "An element is missing.", field: path.joined(separator: "."))
            }
            defer { currentIndex += 1 }
            return (elements[currentIndex], path + [String(currentIndex)])
        }

        mutating func decodeNil() -> Bool {
            guard !isAtEnd, elements[currentIndex] == .null else { return false }
            currentIndex += 1
            return true
        }

        mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            let (value, path) = try next()
            return try BodyDecoder.decode(type, from: value, at: path)
        }

        mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<
            Nested
        > {
            try superDecoder().container(keyedBy: type)
        }

        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            try superDecoder().unkeyedContainer()
        }

        mutating func superDecoder() throws -> any Decoder {
            let (value, path) = try next()
            return BodyDecoder(value: value, path: path)
        }
    }

    private struct Single: SingleValueDecodingContainer {
        let value: JSONValue
        let path: [String]

        var codingPath: [any CodingKey] { path.map(BodyKey.init) }

        func decodeNil() -> Bool { value == .null }

        func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try BodyDecoder.decode(type, from: value, at: path)
        }
    }
}

private struct BodyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

/// A type that is read from a JSON value without a decoder.
private protocol BodyLiteral {
    static var expected: String { get }
    init?(body value: JSONValue)
}

extension String: BodyLiteral {
    fileprivate static var expected: String { "a string" }
    fileprivate init?(body value: JSONValue) {
        guard case .string(let text) = value else { return nil }
        self = text
    }
}

extension Bool: BodyLiteral {
    fileprivate static var expected: String { "true or false" }
    fileprivate init?(body value: JSONValue) {
        guard case .bool(let flag) = value else { return nil }
        self = flag
    }
}

extension BodyLiteral where Self: FixedWidthInteger {
    fileprivate static var expected: String { "a whole number" }
    fileprivate init?(body value: JSONValue) {
        guard case .number(let literal) = value, let number = Self(literal) else { return nil }
        self = number
    }
}

// List all integer types: a missing one would call its own decoder recursively without end.
extension Int: BodyLiteral {}
extension Int8: BodyLiteral {}
extension Int16: BodyLiteral {}
extension Int32: BodyLiteral {}
extension Int64: BodyLiteral {}
extension UInt: BodyLiteral {}
extension UInt8: BodyLiteral {}
extension UInt16: BodyLiteral {}
extension UInt32: BodyLiteral {}
extension UInt64: BodyLiteral {}

extension Double: BodyLiteral {
    fileprivate static var expected: String { "a number" }
    fileprivate init?(body value: JSONValue) {
        guard case .number(let literal) = value, let number = Double(literal), number.isFinite else { return nil }
        self = number
    }
}

extension Date: BodyLiteral {
    fileprivate static var expected: String { "a time such as 2026-11-22T08:48:59Z" }
    fileprivate init?(body value: JSONValue) {
        guard case .string(let text) = value else { return nil }
        self.init(rfc3339: text)
    }
}

extension UUID: BodyLiteral {
    fileprivate static var expected: String { "an id (a UUID)" }
    fileprivate init?(body value: JSONValue) {
        guard case .string(let text) = value else { return nil }
        self.init(uuidString: text)
    }
}
