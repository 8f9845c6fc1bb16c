/// A value in conditions: an attribute of the subject, or the value it is compared with.
///
/// Numbers are doubles, as in GrowthBook's own evaluation. The value of a flag keeps all its digits instead.
public enum FlagValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([FlagValue])
    case object([String: FlagValue])

    /// A member by name, an element by index or the `length` of an array; null if missing.
    package subscript(name: String) -> FlagValue {
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
