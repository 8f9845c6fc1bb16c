public import MartletCore
// Everything that uses the engine uses its values.
@_exported public import MartletFlagValues

extension FlagValue {
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
