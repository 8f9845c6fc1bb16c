public import MartletCore

/// A value in conditions: an attribute of the subject, or the value it is compared with.
///
/// Numbers are doubles, as in GrowthBook's own evaluation. The value of a flag is a `FeatureValue`, which keeps all
/// digits.
public enum FlagValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([FlagValue])
    case object([String: FlagValue])

    /// If a name occurs twice, the last one counts.
    public init(_ json: JSONValue) {
        self =
            switch json {
            case .null: .null
            case .bool(let value): .bool(value)
            case .number(let literal): .number(Double(literal) ?? .nan)
            case .string(let text): .string(text)
            case .array(let elements): .array(elements.map(FlagValue.init))
            case .object(let members):
                .object(Dictionary(members.map { ($0.name, FlagValue($0.value)) }, uniquingKeysWith: { $1 }))
            }
    }

    /// A member by name, an element by index or the `length` of an array; null if missing.
    subscript(name: String) -> FlagValue {
        switch self {
        case .object(let members): members[name] ?? .null
        case .array(let elements):
            if let index = Int(name), elements.indices.contains(index) {
                elements[index]
            } else {
                name == "length" ? .number(Double(elements.count)) : .null
            }
        default: .null
        }
    }
}

/// The value of a feature or variation: its JSON as written, and the parsed value for conditions on it.
public struct FeatureValue: Sendable, Hashable {
    /// JSON text as written: 1.0 stays 1.0.
    public let text: String
    public let value: FlagValue

    public static let null = FeatureValue(.null)

    public init(_ json: JSONValue) {
        text = json.text
        value = FlagValue(json)
    }

    /// JavaScript's truthiness: true for all but null, false, 0, NaN and "".
    public var isOn: Bool { value.isTruthy }
}
