import MartletCore
import MartletPatterns

/// A compiled schema or subschema.
indirect enum SchemaNode: Sendable {
    case anything
    case nothing
    case rules([SchemaRule])
}

/// What one keyword, or several related ones, require of a value.
enum SchemaRule: Sendable {
    case types([ValueType])
    case classNames([String])
    /// `enum` or `const`.
    case values(Set<EqualityKey>, keyword: String)
    case minimum(ExactNumber, literal: String, isExclusive: Bool)
    case maximum(ExactNumber, literal: String, isExclusive: Bool)
    case multipleOf(ExactNumber, literal: String)
    /// `minLength`, `maxItems` and similar keywords.
    case atLeast(Int, Countable)
    case atMost(Int, Countable)
    case pattern(TextPattern)
    case uniqueItems
    case items(SchemaNode, after: Int)
    case prefixItems([SchemaNode])
    case contains(SchemaNode)
    case properties([ExactText: SchemaNode], others: SchemaNode)
    case required([String])
    case dependentRequired([(name: String, others: [String])])
    case propertyNames(SchemaNode)
    case allOf([SchemaNode])
    case anyOf([SchemaNode])
    case oneOf([SchemaNode])
    case not(SchemaNode)

    /// What can be counted.
    enum Countable: String, Sendable {
        /// Unicode code points.
        case character = "Length"
        case element = "Items"
        case member = "Properties"

        func count(_ value: JSONValue) -> Int? {
            switch (self, value) {
            case (.character, .string(let text)): text.unicodeScalars.count
            case (.element, .array(let elements)): elements.count
            case (.member, .object(let members)): members.count
            default: nil
            }
        }

        func phrase(_ count: Int) -> String { "\(count) \(self)\(count == 1 ? "" : "s")" }
    }
}
