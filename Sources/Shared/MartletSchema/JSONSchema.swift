public import MartletCore

/// A compiled JSON Schema (2020-12) for the documents of a collection.
///
/// Supports the keywords in `SchemaCompiler`, and `$ref` to the schema's own `$defs`. Every other keyword is an error,
/// because it would promise a check that never happens.
///
/// There are two extensions. `type` may also be one of Martlet's types: `Date`, `Pointer`, `Relation`, `GeoPoint`,
/// `Polygon`, `File` or `Bytes`. In the same schema as the type `Pointer` or `Relation`, `className` lists the allowed
/// collections.
public struct JSONSchema: Sendable {
    public static let maximumSizeInBytes = 64 << 10
    /// The maximum number of keywords. Each `$ref` counts as all keywords that it refers to. Every ten values, names or
    /// subschemas in a keyword count as one more keyword.
    public static let maximumKeywords = 1_000
    /// The maximum number of subschemas inside each other, along references.
    public static let maximumDepth = 32
    /// The maximum size of all patterns together, in steps of their automata.
    public static let maximumPatternSteps = 5_000
    /// The maximum size of all `default`s that an object may get, with their names.
    public static let maximumDefaultsSizeInBytes = 64 << 10
    /// The maximum number of schemas applied to one document's values; patterns, comparisons, and rules for lists and
    /// objects count by the size of the value.
    static let maximumChecks = 1_000_000

    /// The schema as written.
    public let text: String
    public let document: JSONValue
    let root: SchemaNode
    let defaults: DefaultTree

    /// - Throws: `SchemaError`, also for a text that is not JSON or too large.
    public init(parsing text: some Collection<UInt8>) throws(SchemaError) {
        guard text.count <= Self.maximumSizeInBytes else {
            throw SchemaError(at: "", "A schema may have at most \(Self.maximumSizeInBytes) bytes.")
        }
        self.text = String(decoding: text, as: UTF8.self)
        do throws(JSONError) {
            document = try JSONValue(parsing: text)
        } catch {
            throw SchemaError(at: "", error.description)
        }
        var compiler = SchemaCompiler(document)
        root = try compiler.compile()
        var bytesLeft = Self.maximumDefaultsSizeInBytes
        defaults = try DefaultTree(document, definitions: compiler.definitions, bytesLeft: &bytesLeft)
    }

    /// The name in a `$ref` to one of `$defs`; nil if there is no such `$ref`.
    public static func definitionName(in schema: JSONValue) -> String? { SchemaCompiler.definitionName(in: schema) }

    /// Checks a value; returns the first violations in the order of the document, none if it fits.
    ///
    /// Takes time in proportion to the sizes of schema and value. A value that would take longer than a fixed limit
    /// does not fit.
    public func violations(of value: JSONValue, limit: Int = 10) -> [SchemaViolation] {
        var checksLeft = Self.maximumChecks
        return SchemaChecker.violations(of: value, root, limit: limit, checksLeft: &checksLeft)
    }
}

/// Why a value does not fit a schema.
public struct SchemaViolation: Sendable, Hashable {
    /// The JSON Pointer (RFC 6901) of the value; for an absent member, that of its object.
    public let pointer: String
    public let keyword: String
    /// A sentence that names the keyword, and no values of the document.
    public let message: String

    /// The first member in the pointer, or the member that the document lacks; nil for the document as a whole.
    public let topLevelMember: String?
}

/// Why a text is not a schema.
public struct SchemaError: Error, Hashable {
    /// The JSON Pointer of the keyword or subschema.
    public let pointer: String
    public let message: String

    init(at pointer: String, _ message: String) {
        self.pointer = pointer
        self.message = message
    }
}
