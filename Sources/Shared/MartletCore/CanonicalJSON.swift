public import MartletLogic

/// JSON in canonical form (RFC 8785, JCS), as used for signatures.
public enum CanonicalJSON {
    public enum Failure: Error, Equatable {
        /// A number outside the range of IEEE 754 doubles.
        case numberTooLarge(String)
    }

    /// - Parameter value: A parsed value, so that no object contains a name twice.
    public static func text(of value: JSONValue) throws(Failure) -> String {
        switch value {
        case .null, .bool: return value.text
        case .number(let literal):
            guard let number = Double(literal), number.isFinite else { throw .numberTooLarge(literal) }
            return CanonicalText.number(number)
        case .string(let text): return CanonicalText.quote(text)
        case .array(let elements):
            var texts: [String] = []
            for element in elements { texts.append(try text(of: element)) }
            return "[" + texts.joined(separator: ",") + "]"
        case .object(let members):
            var texts: [String] = []
            for member in members.sorted(by: { CanonicalText.isOrdered($0.name, before: $1.name) }) {
                texts.append(CanonicalText.quote(member.name) + ":" + (try text(of: member.value)))
            }
            return "{" + texts.joined(separator: ",") + "}"
        }
    }
}

extension LogicValue {
    /// Converts a JSON value, with numbers as doubles. The last of several members with the same name wins.
    public init(_ value: JSONValue) {
        switch value {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .number(let literal): self = .number(Double(literal) ?? .nan)
        case .string(let text): self = .string(text)
        case .array(let elements): self = .array(elements.map { LogicValue($0) })
        case .object(let members):
            self = .object(Dictionary(members.map { ($0.name, LogicValue($0.value)) }, uniquingKeysWith: { $1 }))
        }
    }
}
