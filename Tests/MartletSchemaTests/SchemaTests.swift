import MartletCore
import MartletSchema
import Testing

@Suite("Schemas")
struct SchemaTests {
    private func first(_ schema: String, _ value: String) throws -> SchemaViolation? {
        try JSONSchema(parsing: schema.utf8).violations(of: JSONValue(parsing: value.utf8)).first
    }

    @Test(
        "A violation names the value, the keyword and what was expected",
        arguments: [
            (
                #"{"properties":{"a":{"properties":{"b/c":{"items":{"minimum":1}}}}}}"#, #"{"a":{"b/c":[1,0]}}"#,
                "/a/b~1c/1", "minimum", "Expected a number of at least 1 (minimum)."
            ),
            (#"{"required":["name"]}"#, "{}", "", "required", #"The member "name" is missing (required)."#),
            (
                #"{"properties":{"a":true},"additionalProperties":false}"#, #"{"b":1}"#, "/b", "additionalProperties",
                "The schema has no such member (additionalProperties)."
            ),
            (
                #"{"properties":{"a":{"type":["string","null"]}}}"#, #"{"a":1}"#, "/a", "type",
                "Expected string or null, found a number (type)."
            ),
            (
                #"{"properties":{"a":{"maxLength":1}}}"#, #"{"a":"12"}"#, "/a", "maxLength",
                "Expected at most 1 character, found 2 (maxLength)."
            ),
            (
                #"{"properties":{"a":{"pattern":"^b"}}}"#, #"{"a":"a"}"#, "/a", "pattern",
                "The text does not match the pattern (pattern)."
            ),
            (
                #"{"properties":{"a":{"type":"Date"}}}"#, #"{"a":"2026-01-01"}"#, "/a", "type",
                "Expected Date, found a string (type)."
            ),
            (
                #"{"properties":{"a":{"type":"Date"}}}"#, #"{"a":{"__type":"Date"}}"#, "/a", "type",
                "Expected Date, found a malformed Date (type)."
            ),
        ])
    func named(_ schema: String, _ value: String, _ pointer: String, _ keyword: String, _ message: String) throws {
        let violation = try #require(try first(schema, value))
        #expect(violation.pointer == pointer)
        #expect(violation.keyword == keyword)
        #expect(violation.message == message)
    }

    @Test(
        "Typed values are named by type and className, and remain objects",
        arguments: [
            (#"{"type":"Date"}"#, #"{"__type":"Date","iso":"2026-01-01T00:00:00.000Z"}"#, true),
            (#"{"type":"object"}"#, #"{"__type":"Date","iso":"2026-01-01T00:00:00.000Z"}"#, true),
            (#"{"type":"Date"}"#, #"{"__type":"File","name":"a"}"#, false),
            (#"{"type":"GeoPoint"}"#, #"{"latitude":1,"longitude":2}"#, false),
            (
                #"{"type":"Pointer","className":"Events"}"#,
                #"{"__type":"Pointer","className":"Events","objectId":"a"}"#, true
            ),
            (
                #"{"type":"Pointer","className":"Events"}"#,
                #"{"__type":"Pointer","className":"Other","objectId":"a"}"#, false
            ),
            (
                #"{"type":["Pointer","null"],"className":["A","B"]}"#,
                #"{"__type":"Pointer","className":"B","objectId":"a"}"#, true
            ),
            (#"{"type":["Pointer","null"],"className":["A","B"]}"#, "null", true),
            (#"{"type":"Relation","className":"A"}"#, #"{"__type":"Relation","className":"A"}"#, true),
            (#"{"type":"Date"}"#, #"{"__type":"Date"}"#, false),
            (#"{"type":"Date"}"#, #"{"__type":"Date","iso":"never"}"#, false),
            (#"{"type":"Date"}"#, #"{"__type":"Date","iso":"2026-01-01T00:00:00Z"}"#, false),
            (#"{"type":"Pointer"}"#, #"{"__type":"Pointer","className":"A"}"#, false),
            (#"{"type":"Pointer"}"#, #"{"__type":"Pointer","className":"A","objectId":1}"#, false),
            (#"{"type":"Relation"}"#, #"{"__type":"Relation"}"#, false),
            (#"{"type":"GeoPoint"}"#, #"{"__type":"GeoPoint","latitude":-90,"longitude":180}"#, true),
            (#"{"type":"GeoPoint"}"#, #"{"__type":"GeoPoint","latitude":1000,"longitude":0}"#, false),
            (#"{"type":"GeoPoint"}"#, #"{"__type":"GeoPoint","latitude":"1","longitude":0}"#, false),
            (#"{"type":"Polygon"}"#, #"{"__type":"Polygon","coordinates":[[0,0],[0,1],[1,1]]}"#, true),
            (#"{"type":"Polygon"}"#, #"{"__type":"Polygon","coordinates":[[0,0],[0,1],[1]]}"#, false),
            (#"{"type":"File"}"#, #"{"__type":"File","name":"a","url":"b"}"#, true),
            (#"{"type":"File"}"#, #"{"__type":"File","name":"a","url":1}"#, false),
            (#"{"type":"File"}"#, #"{"__type":"File"}"#, false),
            (#"{"type":"Bytes"}"#, #"{"__type":"Bytes","base64":"AA=="}"#, true),
            (#"{"type":"Bytes"}"#, #"{"__type":"Bytes","base64":"?"}"#, false),
            (#"{"type":["Pointer","object"],"className":"A"}"#, #"{"__type":"Pointer","className":"B"}"#, false),
        ])
    func typed(_ schema: String, _ value: String, _ fits: Bool) throws {
        #expect(try (first(schema, value) == nil) == fits)
    }

    @Test(
        "Numbers are compared without rounding",
        arguments: [
            (#"{"maximum":9007199254740993}"#, "9007199254740993", true),
            (#"{"maximum":9007199254740993}"#, "9007199254740993.1", false),
            (#"{"maximum":9007199254740993}"#, "9007199254740994", false),
            (#"{"minimum":-1e300}"#, "-1e301", false), (#"{"minimum":-1e300}"#, "-1e299", true),
            (#"{"exclusiveMinimum":0}"#, "-0.0", false), (#"{"exclusiveMinimum":0}"#, "1e-300", true),
            (#"{"const":1}"#, "1.0", true), (#"{"const":1}"#, "10e-1", true), (#"{"enum":[0]}"#, "-0", true),
            (#"{"multipleOf":0.01}"#, "4.35", true), (#"{"multipleOf":0.01}"#, "4.355", false),
            (#"{"multipleOf":3}"#, "1e300", false), (#"{"multipleOf":3}"#, "3e300", true),
            (#"{"multipleOf":999999999999999999}"#, "999999999999999999000", true),
            (#"{"type":"integer"}"#, "1e2", true), (#"{"type":"integer"}"#, "1e-2", false),
            (#"{"uniqueItems":true}"#, "[1,1.0]", false), (#"{"uniqueItems":true}"#, #"[1,"1",true]"#, true),
            (#"{"maxLength":1}"#, #""e\u0301""#, false), (#"{"maxLength":1}"#, #""😀""#, true),
        ])
    func exact(_ schema: String, _ value: String, _ fits: Bool) throws {
        #expect(try (first(schema, value) == nil) == fits)
    }

    @Test(
        "A keyword that would not be checked is refused",
        arguments: [
            (#"{"minimun":1}"#, "/minimun", "minimum"), (#"{"format":"email"}"#, "/format", "not supported"),
            (#"{"properties":{"a":{"type":"strng"}}}"#, "/properties/a/type", "string"),
            (#"{"$ref":"https://example.org"}"#, "/$ref", "definitions"),
            (##"{"$ref":"#/$defs/a"}"##, "/$ref", "$defs"),
            (##"{"$defs":{"a":{"items":{"$ref":"#/$defs/a"}}}}"##, "/$defs/a/items/$ref", "itself"),
            (#"{"$defs":{"a":{"tipe":1}}}"#, "/$defs/a/tipe", "type"),
            (#"{"items":{"$defs":{}}}"#, "/items/$defs", "top"),
            (#"{"className":"A"}"#, "/className", "Pointer"),
            (#"{"type":"string","className":"A"}"#, "/className", "Pointer"),
            (#"{"multipleOf":0}"#, "/multipleOf", "above zero"), (#"{"minLength":-1}"#, "/minLength", "whole number"),
            (#"{"minLength":1e30}"#, "/minLength", "whole number"),
            (#"{"pattern":"(a"}"#, "/pattern", ")"), (#"{"pattern":"(?=a)"}"#, "/pattern", "Look-ahead"),
            (#"{"enum":[]}"#, "/enum", "at least one"), (#"{"required":["a","a"]}"#, "/required", "different"),
            (#"{"properties":{"a":{"type":"string","default":1}}}"#, "/properties/a/default", "default"),
            (#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#, "/$schema", "2020-12"),
            ("[]", "", "schema"), ("{", "", "JSON"), (#"{"anyOf":[]}"#, "/anyOf", "at least one"),
        ])
    func refused(_ schema: String, _ pointer: String, _ word: String) throws {
        let error = try #require(throws: SchemaError.self) { try JSONSchema(parsing: schema.utf8) }
        #expect(error.pointer == pointer)
        #expect(error.message.contains(word), "\(error.message)")
    }

    @Test("References that multiply are refused instead of expanded")
    func expansion() throws {
        let definitions = (1...20).map {
            ##""d\##($0)":{"allOf":[{"$ref":"#/$defs/d\##($0 - 1)"},{"$ref":"#/$defs/d\##($0 - 1)"}]}"##
        }
        let schema = ##"{"$defs":{"d0":{},\##(definitions.joined(separator: ","))},"$ref":"#/$defs/d20"}"##
        let error = try #require(throws: SchemaError.self) { try JSONSchema(parsing: schema.utf8) }
        #expect(error.message.contains("keywords"))
    }

    @Test("Large and deep schemas are refused")
    func limits() throws {
        let large = #"{"title":""# + String(repeating: "a", count: JSONSchema.maximumSizeInBytes) + #""}"#
        #expect(throws: SchemaError.self) { try JSONSchema(parsing: large.utf8) }
        let patterns = (0..<30).map { #""p\#($0)":{"pattern":"(a{250}){3}"}"# }.joined(separator: ",")
        #expect(throws: SchemaError.self) { try JSONSchema(parsing: #"{"properties":{\#(patterns)}}"#.utf8) }
    }

    @Test("A document that takes too long to check does not fit")
    func budget() throws {
        let rules = (0..<300).map { _ in #"{"items":{"not":{"const":1}}}"# }.joined(separator: ",")
        let schema = try JSONSchema(parsing: #"{"allOf":[\#(rules)]}"#.utf8)
        let value = JSONValue.array((0..<50_000).map { _ in .number("2") })
        let clock = ContinuousClock()
        var violations: [SchemaViolation] = []
        let time = clock.measure { violations = schema.violations(of: value) }
        #expect(violations.map(\.message) == ["The document is too large to be checked against the schema."])
        #expect(time < .seconds(120))
    }

    @Test("Violations inside alternatives are not described, however long the names above them")
    func probing() throws {
        let schema = try JSONSchema(
            parsing: #"""
                {"additionalProperties":{"items":{"anyOf":[{"type":"string"},{"type":"number"}],"not":{"type":"null"}},
                 "contains":{"const":1}}}
                """#.utf8)
        let elements = (0..<50_000).map { _ in JSONValue.number("0") } + [.number("1")]
        let value = JSONValue.object([.init(String(repeating: "~", count: 20_000), .array(elements))])
        let clock = ContinuousClock()
        var violations: [SchemaViolation] = []
        let time = clock.measure { violations = schema.violations(of: value) }
        #expect(violations.isEmpty)
        #expect(time < .seconds(120))
    }

    @Test(
        "Work counts by the size of lists, objects and typed values",
        arguments: [
            (#"{"allOf":[\#(repeated(#"{"uniqueItems":true}"#, 450))]}"#, "[\(numbers(50_000))]"),
            (#"{"anyOf":[\#(repeated(#"{"required":["p"]}"#, 450)),true]}"#, "{\(members(20_000))}"),
            (#"{"allOf":[\#(repeated(#"{"dependentRequired":{"p":["q"]}}"#, 450))]}"#, "{\(members(20_000))}"),
            (
                #"{"allOf":[\#(repeated(#"{"type":["Bytes","object"]}"#, 450))]}"#,
                #"{"__type":"Bytes","base64":"\#(String(repeating: "A", count: 400_000))"}"#
            ),
        ])
    func work(_ schema: String, _ value: String) throws {
        let schema = try JSONSchema(parsing: schema.utf8)
        let value = try JSONValue(parsing: value.utf8)
        let clock = ContinuousClock()
        var violations: [SchemaViolation] = []
        let time = clock.measure { violations = schema.violations(of: value) }
        #expect(violations.map(\.message) == ["The document is too large to be checked against the schema."])
        #expect(time < .seconds(120))
    }

    private static func repeated(_ text: String, _ count: Int) -> String {
        Array(repeating: text, count: count).joined(separator: ",")
    }
    private static func numbers(_ count: Int) -> String { (0..<count).map(String.init).joined(separator: ",") }
    private static func members(_ count: Int) -> String {
        (0..<count).map { #""m\#($0)":0"# }.joined(separator: ",")
    }

    @Test("Large lists in a schema are counted, and references share what they refer to")
    func sizes() throws {
        let values = #"{"enum":[\#(Self.numbers(10_000))]}"#
        let error = try #require(throws: SchemaError.self) { try JSONSchema(parsing: values.utf8) }
        #expect(error.message.contains("keywords"))
        #expect(throws: SchemaError.self) {
            try JSONSchema(parsing: #"{"anyOf":[\#(Self.repeated("true", 10_000))]}"#.utf8)
        }
        let names = Self.members(2_000).replacing(":0", with: ":{}")
        let named = { (count: Int) in
            let references = Self.repeated(##"{"$ref":"#/$defs/d"}"##, count)
            return try JSONSchema(
                parsing: ##"{"$defs":{"d":{"properties":{\##(names)}}},"allOf":[\##(references)]}"##.utf8)
        }
        _ = try named(3)
        #expect(throws: SchemaError.self) { try named(4) }

        // 60 references to 100 values: 120 keywords, and 11 for each reference.
        let many = Self.repeated(##"{"$ref":"#/$defs/d"}"##, 60)
        let shared = ##"{"$defs":{"d":{"enum":[\##(Self.numbers(100))]}},"anyOf":[\##(many)]}"##
        let schema = try JSONSchema(parsing: shared.utf8)
        #expect(schema.violations(of: .number("99")).isEmpty && schema.violations(of: .number("100")).count == 1)
    }

    @Test("A definition counts in full at each reference: its keywords, patterns and depth")
    func shared() throws {
        let use = { (count: Int, definition: String) in
            let references = Self.repeated(##"{"$ref":"#/$defs/d"}"##, count)
            return try JSONSchema(parsing: ##"{"$defs":{"d":\##(definition)},"allOf":[\##(references)]}"##.utf8)
        }
        _ = try use(9, #"{"pattern":"a{250}"}"#)
        #expect(throws: SchemaError.self) { try use(30, #"{"pattern":"a{250}"}"#) }
        #expect(throws: SchemaError.self) { try use(30, #"{"allOf":[\#(Self.repeated(#"{"minimum":0}"#, 40))]}"#) }
        let nested = { (levels: Int, inner: String) in
            String(repeating: #"{"items":"#, count: levels) + inner + String(repeating: "}", count: levels)
        }
        let reference = ##"{"$ref":"#/$defs/d"}"##
        let deep = { (levels: Int) in
            try JSONSchema(
                parsing: ##"{"$defs":{"d":\##(nested(15, "{}"))},"items":\##(nested(levels, reference))}"##.utf8)
        }
        _ = try deep(14)
        #expect(throws: SchemaError.self) { try deep(15) }
    }

    @Test("Defaults have a maximum size, with each reference counted in full")
    func largeDefaults() throws {
        let schema = { (count: Int) in
            let text = String(repeating: "x", count: 1_000)
            let properties = (0..<count).map { ##""p\##($0)":{"$ref":"#/$defs/d"}"## }.joined(separator: ",")
            return try JSONSchema(
                parsing:
                    ##"{"$defs":{"d":{"default":"\##(text)"}},"properties":{"in":{"properties":{\##(properties)}}}}"##
                    .utf8)
        }
        _ = try schema(60)
        let error = try #require(throws: SchemaError.self) { try schema(70) }
        #expect(error.message.contains("defaults"))
    }

    @Test("The number of violations is limited, and alternatives that do not fit add none")
    func limit() throws {
        let schema = try JSONSchema(
            parsing: #"{"items":{"type":"string"},"anyOf":[{"items":{"type":"null"}},{"type":"array"}]}"#.utf8)
        let violations = schema.violations(of: .array((0..<50).map { _ in .number("2") }), limit: 3)
        #expect(violations.map(\.pointer) == ["/0", "/1", "/2"])
    }

    @Test("Defaults are filled in where members are absent, also in objects that exist and behind references")
    func defaults() throws {
        let schema = try JSONSchema(
            parsing: ##"""
                {"$defs":{"place":{"type":"object","properties":{"city":{"default":"Bern"},"zip":{"type":"string"}}}},
                 "properties":{"level":{"type":"integer","default":1},"note":{"default":null},"place":{"$ref":"#/$defs/place"}}}
                """##.utf8)
        let value = try JSONValue(parsing: #"{"level":5,"place":{"zip":"1"}}"#.utf8)
        #expect(schema.defaults(for: value) == [.init("note", .null)])
        #expect(schema.filledInside(value).text == #"{"level":5,"place":{"zip":"1","city":"Bern"}}"#)
        #expect(schema.defaults(for: .object([])).map(\.name) == ["level", "note"])
        #expect(schema.filledInside(.object([])).text == "{}")
    }
}
