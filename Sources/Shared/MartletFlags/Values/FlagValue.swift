public import MartletCore

/// A value that conditions look at: an attribute of whoever asks, or what a condition compares it with.
///
/// Numbers are doubles, as in GrowthBook's own evaluation; what a flag *answers* is `FeatureValue`, which keeps its
/// digits.
public enum FlagValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([FlagValue])
    case object([String: FlagValue])

    /// A name that is there twice counts once, the last time.
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

    /// A member by name, an element by number, the `length` of an array; null where there is none.
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

/// What a feature or variation answers: its JSON as it was typed, and the same for conditions on it.
public struct FeatureValue: Sendable, Hashable {
    /// JSON text; 1.0 stays 1.0.
    public let text: String
    public let value: FlagValue

    public static let null = FeatureValue(.null)

    public init(_ json: JSONValue) {
        text = json.text
        value = FlagValue(json)
    }

    /// JavaScript's truth: all but null, false, 0, NaN and "".
    public var isOn: Bool { value.isTruthy }
}
