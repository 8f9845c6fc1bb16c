import Foundation

/// Encodes `Codable` types as the server stores them: dates, bytes and places with `__type`, numbers with all digits.
enum JSONValueEncoder {
    /// How optional fields without a value are encoded.
    enum NilFields {
        /// They are left out.
        case omitted
        /// The top-level ones become the operation `Delete`, so that a change removes what is stored. Nested objects
        /// are replaced as a whole, so theirs are left out.
        case deleted
    }

    static func encode<Value: Encodable>(_ value: Value, nilFields: NilFields) throws -> JSON {
        let node = EncodedNode()
        try EncodingStep(node: node, codingPath: [], nilFields: nilFields).write(value)
        return node.json ?? .object([:])
    }
}

/// A value in the output, which is set while a type encodes itself.
private final class EncodedNode {
    enum Content {
        case nothing
        case value(JSON)
        case object([String: EncodedNode])
        case array([EncodedNode])
    }

    var content = Content.nothing

    var json: JSON? {
        switch content {
        case .nothing: nil
        case .value(let value): value
        case .object(let members): .object(members.compactMapValues(\.json))
        case .array(let elements): .array(elements.map { $0.json ?? .null })
        }
    }

    func member(_ name: String) -> EncodedNode {
        var members: [String: EncodedNode] = [:]
        if case .object(let existing) = content { members = existing }
        let node = members[name] ?? EncodedNode()
        members[name] = node
        content = .object(members)
        return node
    }

    func appendElement() -> EncodedNode {
        var elements: [EncodedNode] = []
        if case .array(let existing) = content { elements = existing }
        // Releases the only other reference, so that the array grows in place.
        content = .nothing
        let node = EncodedNode()
        elements.append(node)
        content = .array(elements)
        return node
    }

    var count: Int {
        if case .array(let elements) = content { elements.count } else { 0 }
    }
}

private struct EncodingStep: Encoder, SingleValueEncodingContainer {
    let node: EncodedNode
    let codingPath: [any CodingKey]
    let nilFields: JSONValueEncoder.NilFields
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func step(_ node: EncodedNode, _ key: any CodingKey) -> EncodingStep {
        EncodingStep(node: node, codingPath: codingPath + [key], nilFields: .omitted)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        if case .nothing = node.content { node.content = .object([:]) }
        return KeyedEncodingContainer(KeyedContainer<Key>(step: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .nothing = node.content { node.content = .array([]) }
        return UnkeyedContainer(step: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func write<Value: Encodable>(_ value: Value) throws {
        switch value {
        case let value as JSON: node.content = .value(value)
        case let value as JSONNumber: node.content = .value(.number(value))
        case let value as Date: node.content = .value(.date(value))
        case let value as Data:
            node.content = .value(["__type": "Bytes", "base64": .string(value.base64EncodedString())])
        case let value as URL: node.content = .value(.string(value.absoluteString))
        case let value as Decimal:
            guard !value.isNaN else { throw notANumber(value) }
            node.content = .value(.number(JSONNumber(value)))
        default: try value.encode(to: self)
        }
    }

    private func notANumber(_ value: Any) -> EncodingError {
        EncodingError.invalidValue(value, .init(codingPath: codingPath, debugDescription: "JSON has no such number."))
    }

    private func write(_ number: JSONNumber?, of value: Any) throws {
        guard let number else { throw notANumber(value) }
        node.content = .value(.number(number))
    }

    func encodeNil() { node.content = .value(.null) }
    func encode(_ value: Bool) { node.content = .value(.bool(value)) }
    func encode(_ value: String) { node.content = .value(.string(value)) }
    func encode(_ value: Double) throws { try write(JSONNumber(value), of: value) }
    func encode(_ value: Float) throws {
        // A float's own digits: 0.1 and not 0.10000000149011612.
        let hasFraction = value.isFinite && value != value.rounded()
        try write(hasFraction ? JSONNumber(unchecked: "\(value)") : JSONNumber(Double(value)), of: value)
    }
    func encode(_ value: Int) { node.content = .value(.number(JSONNumber(value))) }
    func encode(_ value: Int8) { node.content = .value(.number(JSONNumber(value))) }
    func encode(_ value: Int16) { node.content = .value(.number(JSONNumber(value))) }
    func encode(_ value: Int32) { node.content = .value(.number(JSONNumber(value))) }
    func encode(_ value: Int64) { node.content = .value(.number(JSONNumber(value))) }
    func encode(_ value: UInt) { node.content = .value(.number(JSONNumber(value))) }
    func encode(_ value: UInt8) { node.content = .value(.number(JSONNumber(value))) }
    func encode(_ value: UInt16) { node.content = .value(.number(JSONNumber(value))) }
    func encode(_ value: UInt32) { node.content = .value(.number(JSONNumber(value))) }
    func encode(_ value: UInt64) { node.content = .value(.number(JSONNumber(value))) }
    func encode<Value: Encodable>(_ value: Value) throws { try write(value) }
}

private struct KeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let step: EncodingStep
    var codingPath: [any CodingKey] { step.codingPath }

    private func at(_ key: any CodingKey) -> EncodingStep { step.step(step.node.member(key.stringValue), key) }

    private func encodeOptional<Value: Encodable>(_ value: Value?, _ key: Key) throws {
        if let value {
            try at(key).write(value)
        } else if case .deleted = step.nilFields {
            at(key).node.content = .value(["__op": "Delete"])
        }
    }

    func encodeNil(forKey key: Key) { at(key).encodeNil() }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try at(key).write(value) }

    // The generic method alone would not be called, because the protocol has default implementations for each of these
    // types, which skip nil.
    func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: String?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try encodeOptional(value, key) }
    func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try encodeOptional(value, key) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<
        Nested
    > {
        at(key).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { at(key).unkeyedContainer() }
    func superEncoder() -> any Encoder { at(NamedKey("super")) }
    func superEncoder(forKey key: Key) -> any Encoder { at(key) }
}

private struct UnkeyedContainer: UnkeyedEncodingContainer {
    let step: EncodingStep
    var codingPath: [any CodingKey] { step.codingPath }
    var count: Int { step.node.count }

    private func append() -> EncodingStep { step.step(step.node.appendElement(), NamedKey(index: count - 1)) }

    func encodeNil() { append().encodeNil() }
    func encode<Value: Encodable>(_ value: Value) throws { try append().write(value) }
    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        append().container(keyedBy: type)
    }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { append().unkeyedContainer() }
    func superEncoder() -> any Encoder { append() }
}

/// A key with any name, independent of a type.
struct NamedKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ name: String) {
        stringValue = name
        intValue = nil
    }

    init(index: Int) {
        stringValue = String(index)
        intValue = index
    }

    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { self.init(index: intValue) }
}
