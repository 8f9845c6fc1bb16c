import Foundation
import Testing

@testable import MartletCore

@Suite struct JSONTests {
    @Test(arguments: [
        ("null", "null"), ("true", "true"), (" false ", "false"), ("0", "0"), ("-0", "-0"), ("1.0", "1.0"),
        ("1.10", "1.10"), ("1e2", "1e2"),
        ("1E+2", "1E+2"), ("1.5e-10", "1.5e-10"), ("12345678901234567890.123", "12345678901234567890.123"),
        (#""""#, #""""#),
        (#""a\"b\\c\/d""#, #""a\"b\\c/d""#), (#""\b\f\n\r\t""#, #""\u0008\u000c\u000a\u000d\u0009""#),
        (#""\u00e9\u20AC""#, #""é€""#),
        (#""\ud83e\udd89!""#, #""🦉!""#), (#""🦉""#, #""🦉""#), ("[]", "[]"), ("[ 1 ,\t[2\n,\r{}] ]", "[1,[2,{}]]"),
        ("{}", "{}"),
        (#"{ "b" : 1 , "a" : {"c":[null]} }"#, #"{"b":1,"a":{"c":[null]}}"#), (#"{"":0}"#, #"{"":0}"#),
        (#"{"\u0061":1}"#, #"{"a":1}"#), ("\"\u{7f}\"", #""\u007f""#), ("\"\u{2028}\u{ffff}\"", "\"\u{2028}\u{ffff}\""),
    ]) func `JSON is read unchanged`(_ text: String, _ canonical: String) throws {
        let value = try JSONValue(parsing: text.utf8)
        #expect(value.text == canonical)
        #expect(try JSONValue(parsing: value.text.utf8) == value)
    }

    @Test(arguments: [
        "", " ", "nul", "nulll", "True", "NaN", "Infinity", "+1", "01", "-", "-a", "1.", ".5", "1.e2", "1e", "1e+",
        "0x10", "1_000", "1 2",
        "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1}", "{", "}", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,",
        "{\"a\":1,}", "{,}", "{a:1}",
        "{'a':1}", "{1:1}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "{\"a\":1]", "\"", "\"a", "'a'", "\"\\", "\"\\x\"",
        "\"\\u12\"", "\"\\u12g4\"",
        "\"\\uD800\"", "\"\\uD800x\"", "\"\\uD800\\n\"", "\"\\uD800\\u0041\"", "\"\\uDC00\"", "\"\\uD800\\uD800\"",
        "\"\n\"", "\"\t\"", "\"\u{1f}\"",
        "\u{feff}1", "\u{feff}{}", "1//", "/*x*/1", "[1]x", "{}{}", "\u{a0}1", "\"\\u００41\"", "tru\u{0}",
    ]) func `invalid JSON is refused`(_ text: String) {
        #expect(error(text.utf8)?.reason == .syntax)
    }

    @Test(
        arguments: [
            [0x22, 0xff, 0x22], [0x22, 0xc0, 0x80, 0x22], [0x22, 0xc3, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22],
            [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22],
            [0x22, 0xe2, 0x82, 0x22], [0x22, 0x80, 0x22], [0x22, 0x00, 0x22], [0xfe, 0xff, 0x00, 0x31],
        ] as [[UInt8]]) func `text that is not UTF-8 is refused`(_ bytes: [UInt8])
    {
        #expect([.syntax, .encoding].contains(error(bytes)?.reason))
    }

    @Test(
        arguments: [
            ([0x5b, 0x22, 0x61, 0xff, 0x22, 0x5d], 3), ([0x22, 0xc3, 0xa9, 0xe2, 0x82, 0x22], 3),
            ([0x22, 0xed, 0xa0, 0x80, 0x22], 1),
        ] as [([UInt8], Int)]) func `the error names the first byte that is not UTF-8`(_ bytes: [UInt8], _ offset: Int)
    {
        #expect(error(bytes) == JSONError(reason: .encoding, offset: offset))
    }

    @Test(arguments: [
        "{\"a\":1}".data(using: .utf16LittleEndian)!, "{\"a\":1}".data(using: .utf16BigEndian)!,
        "{\"a\":1}".data(using: .utf16)!,
        "[]".data(using: .utf32)!,
    ]) func `UTF-16 and UTF-32 are refused`(_ text: Data) {
        #expect(error(text)?.reason == .syntax)
    }

    @Test(
        arguments: [
            (#"{"a":1,"a":2}"#, 8), (#"{"a":1,"b":2,"\u0061":3}"#, 14),
            (#"[{"x":{"a":1}},{"a":{"b":1,"c":{},"b":1}}]"#, 35),
            (#"{"é":1,"\u00e9":2}"#, 9), (#"{"":1,"":2}"#, 7), (many(200, "k7"), nil), (many(200, #"\u006b7"#), nil),
            ("{\"a\\n\":1,\"a\\u000a\":1}", 10),
        ] as [(String, Int?)]) func `a duplicate name in an object is refused at its position`(
            _ text: String, _ offset: Int?
        )
    {
        let found = error(text.utf8)
        #expect(found?.reason == .duplicateName)
        if let offset { #expect(found?.offset == offset) }
        let bytes = Array(text.utf8)
        #expect(throws: JSONError.self) { try bytes.withUnsafeBufferPointer { try JSONText.validate($0) } }
        #expect((try? JSONValue(parsing: bytes, allowingDuplicates: true)) != nil)
    }

    /// Names that Swift considers equal are two names, because names are compared by bytes.
    @Test(arguments: [
        "{\"\u{e9}\":1,\"e\u{301}\":2}", "{\"K\":1,\"\u{212a}\":2}", #"{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}"#,
        many(200, nil), #"{"a":1,"A":2}"#,
    ]) func `names that differ in a byte are different`(_ text: String) {
        #expect(error(text.utf8) == nil)
    }

    @Test(arguments: [
        ("[]", "Expected a JSON object, found an array at byte 0."),
        (" \n7", "Expected a JSON object, found a number at byte 2."),
        ("null", "Expected a JSON object, found null at byte 0."), ("{\"a\":tru}", "Not valid JSON at byte 5."),
        ("{\"a\":1,\"a\":1}", "A member name appears twice in one object, the second time at byte 8."),
    ]) func `an error is a sentence that names the byte`(_ text: String, _ sentence: String) {
        let error = #expect(throws: JSONError.self) { try members(text) }
        #expect(error?.description == sentence)
    }

    @Test(arguments: [
        (#""\u0000""#, JSONError.Reason.nulCharacter), (#"{"\u0000":1}"#, .nulCharacter),
        (#"["a\u0000b"]"#, .nulCharacter),
        (nested(33), .tooDeep), ("1e400", .numberTooLarge), ("1e-399", .numberTooLarge), ("12e399", .numberTooLarge),
        (growth(2_760), .numberTooLarge),
        ("1.5e-398", .numberTooLarge), ("1e401", .numberTooLarge), ("1E99999999999999999999999", .numberTooLarge),
        (digits(401), .numberTooLarge), ("0." + digits(399), .numberTooLarge),
    ]) func `JSON beyond the limits of PostgreSQL or Martlet has an error of its own`(
        _ text: String, _ reason: JSONError.Reason
    ) {
        #expect(error(text.utf8)?.reason == reason)
    }

    @Test(arguments: [
        nested(32), "1e399", "1e-398", "1.7976931348623157e308", "-5e-324", digits(400), growth(2_600), #""\\u0000""#,
    ]) func `values at the limits are accepted`(_ text: String) {
        #expect(error(text.utf8) == nil)
    }

    @Test func `a hundred thousand brackets are refused without recursion`() {
        #expect(error(Array(repeating: UInt8(ascii: "["), count: 100_000))?.reason == .tooDeep)
        let objects = String(repeating: #"{"a":"#, count: 100_000)
        #expect(error(objects.utf8)?.reason == .tooDeep)
    }

    @Test(arguments: [("[1,2,x]", 5), (#"{"a":tru}"#, 5), ("", 0), ("  ]", 2)]) func `an error names its position`(
        _ text: String, _ offset: Int
    ) {
        #expect(error(text.utf8)?.offset == offset)
    }

    @Test func `an object's members are extracted as bytes`() throws {
        let text = #" { "a" : 1.10 , "\u0062":{"x":[1]}, "c":"z" } "#
        let members = try members(text)
        #expect(members.map(\.name) == ["a", "b", "c"])
        #expect(
            members.map { String(decoding: Array(text.utf8)[$0.value], as: UTF8.self) } == [
                "1.10", #"{"x":[1]}"#, #""z""#,
            ])
    }

    @Test(arguments: [
        ("[]", objectNotArray), ("1", .shape(expected: .object, found: .number)),
        ("null", .shape(expected: .object, found: .null)),
        (#""x""#, .shape(expected: .object, found: .string)), ("true", .shape(expected: .object, found: .boolean)),
        ("", .syntax), ("x", .syntax), ("nul", .syntax),
        ("{}x", .syntax), (#"{"a":1}]"#, .syntax), (nested(33), objectNotArray), (#"{"a":\#(nested(32))}"#, .tooDeep),
    ]) func `a value that is not an object has a different error than invalid JSON`(
        _ text: String, _ reason: JSONError.Reason
    ) {
        let error = #expect(throws: JSONError.self) { try members(text) }
        #expect(error?.reason == reason)
    }

    @Test func `the objects in a list are extracted`() throws {
        #expect(try elements(#"[{"a":1}, {} ,{"b":2,"c":3}]"#).map { $0.map(\.name) } == [["a"], [], ["b", "c"]])
        #expect(try elements(" [ ] ").isEmpty)
    }

    @Test(arguments: [
        ("{}", JSONError.Reason.shape(expected: .array, found: .object)),
        ("[1]", .shape(expected: .object, found: .number)), ("[{},[]]", objectNotArray),
        ("[{},null]", .shape(expected: .object, found: .null)), ("", .syntax), ("[{}", .syntax), ("[{},]", .syntax),
        ("[{}]]", .syntax),
    ]) func `anything but a list of objects is refused`(_ text: String, _ reason: JSONError.Reason) {
        let error = #expect(throws: JSONError.self) { try elements(text) }
        #expect(error?.reason == reason)
    }

    private func error(_ bytes: some Sequence<UInt8>) -> JSONError? {
        do throws(JSONError) {
            _ = try JSONValue(parsing: bytes)
            return nil
        } catch {
            return error
        }
    }

    @Test func `the values of an array are found, whatever they are`() throws {
        func values(_ text: String) throws -> [String] {
            let bytes = Array(text.utf8)
            return try bytes.withUnsafeBufferPointer { try JSONText.values(of: $0, maximum: 1_000) }.map {
                String(decoding: bytes[$0], as: UTF8.self)
            }
        }
        #expect(
            try values(#" [ {"a":[1]} , 2.50,null,"],[" ,[]] "#) == [#"{"a":[1]}"#, "2.50", "null", #""],[""#, "[]"])
        #expect(try values("[]") == [])
        for text in ["{}", "[1", "[1,]", "[1] 2", "[tru]", ""] { #expect(throws: JSONError.self) { try values(text) } }
    }

    @Test(arguments: ["0", "[]", "[0]", #"{"":0}"#, #""a""#, #""0123456789abcdef""#, "null", " [ ] "])
    func `a text with very many small values is refused before it takes many times its size`(_ value: String) {
        let count = (16 << 20) / (value.utf8.count + 1)
        let text = "[" + String(repeating: value + ",", count: count) + "0]"
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: text.utf8) }
        #expect(error?.reason == .tooMany)
    }

    @Test func `an object with very many members is refused before its names take many times its size`() {
        let members = (0..<200_000).map { "\"\($0)\":0" }.joined(separator: ",")
        let bytes = Array("{\"a\":{\(members)}}".utf8)
        let error = #expect(throws: JSONError.self) {
            try bytes.withUnsafeBufferPointer { try JSONText.members(of: $0) }
        }
        #expect(error?.reason == .tooMany)
    }

    @Test func `a text with values of ordinary size is read at any size, and a short text with any values`() throws {
        let value = "\"" + String(repeating: "x", count: 60) + "\""
        let text = "[" + Array(repeating: value, count: (16 << 20) / 63).joined(separator: ",") + "]"
        guard case .array(let elements) = try JSONValue(parsing: text.utf8) else { return #expect(Bool(false)) }
        #expect(elements.count == (16 << 20) / 63)
        let short = "[" + String(repeating: "0,", count: 99_998) + "0]"
        #expect(throws: Never.self) { try JSONValue(parsing: short.utf8) }
    }

    private func members(_ text: String) throws -> [JSONText.Member] {
        try Array(text.utf8).withUnsafeBufferPointer { try JSONText.members(of: $0) }
    }

    private func elements(_ text: String) throws -> [[JSONText.Member]] {
        var elements: [[JSONText.Member]] = []
        try Array(text.utf8).withUnsafeBufferPointer {
            try JSONText.forEachElement(of: $0) { members, _ in elements.append(members) }
        }
        return elements
    }

    private static let objectNotArray = JSONError.Reason.shape(expected: .object, found: .array)

    /// An object with so many members and one more.
    private static func many(_ count: Int, _ name: String?) -> String {
        let names = (0..<count).map { "k\($0)" } + (name.map { [$0] } ?? [])
        return "{" + names.map { "\"\($0)\":1" }.joined(separator: ",") + "}"
    }

    private static func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    /// Numbers that PostgreSQL writes with 395 additional digits each.
    private static func growth(_ count: Int) -> String {
        "[" + Array(repeating: "1e399", count: count).joined(separator: ",") + "]"
    }

    private static func digits(_ count: Int) -> String {
        String(repeating: "7", count: count)
    }
}
