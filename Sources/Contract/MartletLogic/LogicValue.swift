public import Foundation

/// A JSON value for computations: numbers are IEEE doubles, as in JavaScript. Use `JSONValue` for documents that must
/// keep the original digits.
public enum LogicValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([LogicValue])
    case object([String: LogicValue])

    /// - Throws: `DecodingError` if the data is not JSON.
    public init(json: Data) throws {
        self = try JSONDecoder().decode(LogicValue.self, from: json)
    }

    /// - Throws: `DecodingError` if the text is not JSON.
    public init(json: String) throws {
        try self.init(json: Data(json.utf8))
    }

    /// JSON text as printed by `JSON.stringify`, with the members in canonical order. Numbers that JSON cannot
    /// represent become `null`.
    public var json: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let value): value.isFinite ? CanonicalText.number(value) : "null"
        case .string(let text): CanonicalText.quote(text)
        case .array(let elements): "[" + elements.map(\.json).joined(separator: ",") + "]"
        case .object(let members):
            "{"
                + members.sorted { CanonicalText.isOrdered($0.key, before: $1.key) }
                .map { CanonicalText.quote($0.key) + ":" + $0.value.json }.joined(separator: ",") + "}"
        }
    }

    /// The member with this name, or the element with this index; nil if absent.
    public subscript(name: String) -> LogicValue? {
        switch self {
        case .object(let members): members[name]
        case .array(let elements): Int(name).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
        default: nil
        }
    }
}

extension LogicValue: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([LogicValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: LogicValue].self))
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

extension LogicValue: ExpressibleByStringLiteral, ExpressibleByFloatLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral,
    ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(integerLiteral value: Int) { self = .number(Double(value)) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(nilLiteral: ()) { self = .null }
    public init(arrayLiteral elements: LogicValue...) { self = .array(elements) }
    public init(dictionaryLiteral members: (String, LogicValue)...) {
        self = .object(Dictionary(members) { _, last in last })
    }
}
