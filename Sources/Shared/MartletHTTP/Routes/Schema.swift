/// A schema for JSON values, with the keywords of JSON Schema 2020-12 and OpenAPI 3.1.
///
/// Schemas are documentation. Only query parameters are checked against them; endpoints decode bodies themselves.
public struct Schema: Sendable {
    /// A value of a keyword.
    public indirect enum Value: Sendable {
        case literal(Literal)
        case schema(Schema)
        case schemas([Schema])
        case properties([(name: String, schema: Schema)])
    }

    /// A schema with a name, which the description contains once and refers to elsewhere.
    public struct Component: Sendable {
        public let name: String
        /// A function, because a schema may contain itself.
        public let schema: @Sendable () -> Schema
    }

    public private(set) var component: Component?
    public private(set) var keywords: [(name: String, value: Value)]

    private init(_ keywords: [(String, Value)]) {
        self.keywords = keywords.map { (name: $0.0, value: $0.1) }
    }

    /// Adds a keyword that has no function here.
    public func keyword(_ name: String, _ value: Literal) -> Schema { adding(name, .literal(value)) }
    public func keyword(_ name: String, _ schema: Schema) -> Schema { adding(name, .schema(schema)) }

    private func adding(_ name: String, _ value: Value) -> Schema {
        var copy = self
        copy.keywords.append((name, value))
        return copy
    }

    private static func type(_ name: String) -> Schema { Schema([("type", .literal(.string(name)))]) }
}

// MARK: Types

extension Schema {
    public static let string = type("string")
    public static let integer = type("integer")
    public static let number = type("number")
    public static let boolean = type("boolean")
    public static let null = type("null")
    /// Any value.
    public static let any = Schema([])
    public static let uuid = string.format("uuid")
    /// A time (RFC 3339).
    public static let time = string.format("date-time")
    /// A day, such as `2026-11-22`.
    public static let day = string.format("date")
    public static let uri = string.format("uri")
    /// Bytes.
    public static let bytes = string.format("binary")
    /// An object with any members.
    public static let object = type("object")
    /// An array of anything.
    public static let array = type("array")

    public static func object(_ properties: KeyValuePairs<String, Schema>, required: [String] = []) -> Schema {
        var schema = type("object")
        if !required.isEmpty { schema = schema.keyword("required", .array(required.map { .string($0) })) }
        return schema.adding("properties", .properties(properties.map { (name: $0.key, schema: $0.value) }))
    }

    public static func array(of element: Schema) -> Schema { type("array").adding("items", .schema(element)) }

    /// An object with arbitrary names and values of one schema.
    public static func map(of value: Schema) -> Schema {
        type("object").adding("additionalProperties", .schema(value))
    }

    /// One of these strings.
    public static func oneOf(_ values: String...) -> Schema { oneOf(values) }

    public static func oneOf(_ values: [String]) -> Schema {
        string.keyword("enum", .array(values.map { .string($0) }))
    }

    /// One of these values, of any type.
    public static func values(_ values: Literal...) -> Schema { any.keyword("enum", .array(values)) }

    public static func constant(_ value: Literal) -> Schema { any.keyword("const", value) }

    /// A value of one of several types.
    public static func types(_ names: String...) -> Schema {
        any.keyword("type", .array(names.map { .string($0) }))
    }

    /// A value that fits exactly one of the schemas.
    public static func exactlyOne(_ schemas: Schema...) -> Schema { any.adding("oneOf", .schemas(schemas)) }
    /// A value that fits at least one of the schemas.
    public static func anyOf(_ schemas: Schema...) -> Schema { any.adding("anyOf", .schemas(schemas)) }
    /// A value that fits all of the schemas.
    public static func all(_ schemas: Schema...) -> Schema { any.adding("allOf", .schemas(schemas)) }

    /// A schema that appears in the description under a name.
    public static func component(_ name: String, _ schema: @autoclosure @escaping @Sendable () -> Schema) -> Schema {
        var reference = any
        reference.component = Component(name: name, schema: schema)
        return reference
    }
}

// MARK: Constraints

extension Schema {
    public func described(_ text: String) -> Schema { keyword("description", .string(text)) }
    public func format(_ name: String) -> Schema { keyword("format", .string(name)) }
    public func pattern(_ pattern: String) -> Schema { keyword("pattern", .string(pattern)) }
    public func range(_ minimum: Int, _ maximum: Int) -> Schema { self.minimum(minimum).maximum(maximum) }
    public func minimum(_ minimum: Int) -> Schema { keyword("minimum", .integer(minimum)) }
    public func maximum(_ maximum: Int) -> Schema { keyword("maximum", .integer(maximum)) }
    /// The length of a string, in characters.
    public func length(_ minimum: Int, _ maximum: Int) -> Schema { self.minLength(minimum).maxLength(maximum) }
    public func minLength(_ minimum: Int) -> Schema { keyword("minLength", .integer(minimum)) }
    public func maxLength(_ maximum: Int) -> Schema { keyword("maxLength", .integer(maximum)) }
    /// The number of an array's elements.
    public func items(_ minimum: Int, _ maximum: Int) -> Schema { self.minItems(minimum).maxItems(maximum) }
    public func minItems(_ minimum: Int) -> Schema { keyword("minItems", .integer(minimum)) }
    public func maxItems(_ maximum: Int) -> Schema { keyword("maxItems", .integer(maximum)) }
    /// The value when the member or parameter is absent.
    public func defaulting(to value: Literal) -> Schema { keyword("default", value) }
    public func examples(_ values: Literal...) -> Schema { keyword("examples", .array(values)) }

    /// The same schema, which also allows null.
    public var nullable: Schema {
        var copy = self
        for index in copy.keywords.indices where copy.keywords[index].name == "type" {
            if case .literal(let type) = copy.keywords[index].value {
                copy.keywords[index].value = .literal(.array([type, "null"]))
            }
        }
        for index in copy.keywords.indices where copy.keywords[index].name == "enum" {
            if case .literal(.array(let values)) = copy.keywords[index].value {
                copy.keywords[index].value = .literal(.array(values + [nil]))
            }
        }
        return copy
    }

    /// Marks a member that occurs in answers only. In requests it is refused or ignored.
    public var readOnly: Schema { keyword("readOnly", true) }

    /// Excludes members that are not listed.
    public var closed: Schema { keyword("additionalProperties", false) }
}

// MARK: Literals

extension Schema {
    /// A JSON value in a declaration.
    public enum Literal: Sendable, Hashable {
        case null
        case bool(Bool)
        case integer(Int)
        case number(Double)
        case string(String)
        case array([Literal])
        case object([Member])

        public struct Member: Sendable, Hashable {
            public let name: String
            public let value: Literal

            public init(_ name: String, _ value: Literal) {
                self.name = name
                self.value = value
            }
        }
    }
}

extension Schema.Literal: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: Schema.Literal...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, Schema.Literal)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }
}
