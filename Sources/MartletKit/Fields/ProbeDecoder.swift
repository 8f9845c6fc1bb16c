import Foundation

/// Records which values a type reads while it is decoded from a sample.
final class ProbeRecord {
    static let maximumLeaves = 300

    let changed: String?
    /// The paths of values without parts, in order. Each sample changes one of them.
    private(set) var leaves: [String] = []
    private(set) var values: [String: [Any]] = [:]
    private var counts: [String: Int] = [:]
    /// The types being decoded. A type that contains itself must not be decoded without end.
    var open: [Any.Type] = []

    init(changing leaf: String?) { changed = leaf }

    func note(_ value: Any, at path: String) { values[path, default: []].append(value) }

    /// The leaf's number, and whether this sample changes it.
    func leaf(at path: String) throws -> (number: Int, isChanged: Bool) {
        guard leaves.count < Self.maximumLeaves else {
            throw MartletError(.unknownField, "The type has more than \(Self.maximumLeaves) values.")
        }
        let leaf = "\(path)#\(counts[path, default: 0])"
        counts[path, default: 0] += 1
        leaves.append(leaf)
        return (leaves.count, leaf == changed)
    }
}

/// Decodes any type from made-up values.
struct ProbeDecoder: Decoder {
    let record: ProbeRecord
    /// Names joined by dots; the elements of a list have their list's path.
    let path: String
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(_ record: ProbeRecord, path: String = "") {
        self.record = record
        self.path = path
    }

    func at(_ key: any CodingKey) -> ProbeDecoder {
        ProbeDecoder(record, path: path.isEmpty ? key.stringValue : path + "." + key.stringValue)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(KeyedContainer<Key>(decoder: self))
    }
    func unkeyedContainer() -> any UnkeyedDecodingContainer { UnkeyedContainer(decoder: self) }
    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    /// A sample of the type, recorded at this path.
    func sample<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let value = try known(type) ?? composed(type)
        record.note(value, at: path)
        return value
    }

    private func composed<Value: Decodable>(_ type: Value.Type) throws -> Value {
        record.open.append(type)
        defer { record.open.removeLast() }
        do {
            return try Value(from: self)
        } catch {
            // A list is empty if its elements cannot be decoded from a sample.
            if let empty = EmptyValue.collection(type) { return empty }
            guard let error = error as? DecodingError else { throw error }
            // Names the innermost type that failed, because that is the one to change.
            throw MartletError(.unknownField, "\(type) at \"\(path)\" accepts no sample", underlyingError: error)
        }
    }

    func isOpen(_ type: Any.Type) -> Bool { record.open.contains { $0 == type } }

    /// Samples of types that would refuse arbitrary texts and numbers.
    private func known<Value>(_ type: Value.Type) throws -> Value? {
        let pair: (Any, Any)? =
            switch type {
            case is Date.Type: (Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 1))
            case is Data.Type: (Data([0]), Data([1]))
            case is URL.Type: pair("http://a.test", "http://b.test") { URL(string: $0) }
            case is UUID.Type: (UUID(uuid: UUID.zero), UUID(uuid: UUID.one))
            case is Decimal.Type: (Decimal(0), Decimal(1))
            case is JSON.Type: (JSON.string("a"), JSON.string("b"))
            case is JSONNumber.Type: (JSONNumber(0), JSONNumber(1))
            case let type as any Sampled.Type: samples(type)
            case let type as any CaseIterable.Type: cases(type)
            default: nil
            }
        guard let pair else { return nil }
        return (try record.leaf(at: path).isChanged ? pair.1 : pair.0) as? Value
    }

    private func pair(_ first: String, _ second: String, _ make: (String) -> Any?) -> (Any, Any)? {
        guard let first = make(first), let second = make(second) else { return nil }
        return (first, second)
    }

    private func samples<Value: Sampled>(_ type: Value.Type) -> (Any, Any) { (type.samples.0, type.samples.1) }

    private func cases<Value: CaseIterable>(_ type: Value.Type) -> (Any, Any)? {
        guard let first = type.allCases.first else { return nil }
        return (first, type.allCases.dropFirst().first ?? first)
    }
}

extension UUID {
    fileprivate static let zero: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    fileprivate static let one: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)
}

extension ProbeDecoder: IntegerDecodingContainer {
    private func noted<Value>(_ make: (Int, Bool) -> Value) throws -> Value {
        let (number, isChanged) = try record.leaf(at: path)
        let value = make(number, isChanged)
        record.note(value, at: path)
        return value
    }

    /// Small enough for the smallest integer types.
    func integer<Integer: FixedWidthInteger>() throws -> Integer {
        try noted { number, isChanged in Integer(number % 60 + (isChanged ? 64 : 0)) }
    }

    func decodeNil() -> Bool { false }
    func decode(_ type: Bool.Type) throws -> Bool { try noted { $1 } }
    func decode(_ type: String.Type) throws -> String { try noted { ($1 ? "b" : "a") + String($0) } }
    func decode(_ type: Double.Type) throws -> Double { try noted { Double($0) + ($1 ? 0.5 : 0) } }
    func decode(_ type: Float.Type) throws -> Float { try noted { Float($0) + ($1 ? 0.5 : 0) } }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try sample(type) }
}

private struct KeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: ProbeDecoder
    var codingPath: [any CodingKey] { [] }
    /// For dictionaries.
    var allKeys: [Key] { Key(stringValue: "a").map { [$0] } ?? [] }

    func contains(_ key: Key) -> Bool { true }
    func decodeNil(forKey key: Key) -> Bool { false }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoder.at(key).sample(type)
    }

    /// Nil for a type that is nested in itself, and for one that accepts no sample.
    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        if decoder.isOpen(type) { return nil }
        return try? decoder.at(key).sample(type)
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedDecodingContainer<
        Nested
    > {
        decoder.at(key).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer { decoder.at(key).unkeyedContainer() }
    func superDecoder() -> any Decoder { decoder.at(NamedKey("super")) }
    func superDecoder(forKey key: Key) -> any Decoder { decoder.at(key) }
}

/// A list of one element. A type that does not check for the end gets as many elements as it reads.
private struct UnkeyedContainer: UnkeyedDecodingContainer {
    let decoder: ProbeDecoder
    var currentIndex = 0
    var codingPath: [any CodingKey] { [] }
    var count: Int? { nil }
    var isAtEnd: Bool { currentIndex > 0 }

    mutating func decodeNil() -> Bool { false }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if decoder.isOpen(type) {
            throw DecodingError.valueNotFound(type, .init(codingPath: [], debugDescription: "the type contains itself"))
        }
        currentIndex += 1
        return try decoder.at(NamedKey("*")).sample(type)
    }
    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedDecodingContainer<Nested> {
        currentIndex += 1
        return decoder.at(NamedKey("*")).container(keyedBy: type)
    }
    mutating func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer {
        currentIndex += 1
        return decoder.at(NamedKey("*")).unkeyedContainer()
    }
    mutating func superDecoder() -> any Decoder { decoder.at(NamedKey("*")) }
}
