import Foundation
import Testing

@testable import MartletKit

struct JSONTests {
    @Test(arguments: [
        "1.10", "-0", "0.1e5", "123456789012345678901234567890", "1E-7", #"{"a":[1,true,null,"x"]}"#,
        #""\"\\\n\u0001""#,
        #""😀""#, "[]", "{}", #""é""#,
    ])
    func `JSON is written with the digits and characters that were read`(text: String) throws {
        let value = try JSON(parsing: Data(text.utf8))
        #expect(try JSON(parsing: value.data) == value)
        if case .number(let number) = value { #expect(number.text == text) }
    }

    @Test func `escape sequences are read as characters`() throws {
        let text = #""\u00e9\ud83d\ude00\/\b\f\n\r\t\"\\""#
        #expect(try JSON(parsing: Data(text.utf8)) == "é😀/\u{8}\u{c}\n\r\t\"\\")
    }

    @Test(arguments: [
        "", "01", "1.", ".5", "+1", "[1,]", "{,}", "tru", #""\ud83d""#, #""\u12g4""#, #""\u+123""#, "\"a\nb\"", "1 2",
        "{\"a\":1", "NaN", "[", "\"", #""\x""#, "-", "1e", String(repeating: "[", count: 5_000),
    ])
    func `invalid JSON is refused`(text: String) {
        #expect { try JSON(parsing: Data(text.utf8)) } throws: { ($0 as? MartletError)?.code == .invalidJSON }
    }

    @Test(arguments: [
        ("1", "1.0", true), ("100", "1e2", true), ("1.10", "1.1", true), ("-0", "0.00", true), ("0.5", "5E-1", true),
        ("1", "1.01", false), ("1e400", "1e401", false), ("1", "-1", false), ("1e99999999999999999999", "1", false),
    ])
    func `numbers are equal by value`(left: String, right: String, equal: Bool) throws {
        let left = try #require(JSONNumber(text: left)), right = try #require(JSONNumber(text: right))
        #expect((left == right) == equal)
        #expect(!equal || left.hashValue == right.hashValue)
    }

    @Test(arguments: [("44", 44), ("44.0", 44), ("4.4e1", 44), ("-3", -3), ("44.5", nil), ("1e30", nil), ("0e99", 0)])
    func `only an exact integer converts to Int`(text: String, expected: Int?) throws {
        #expect(try #require(JSONNumber(text: text)).integer() == expected)
    }

    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0), ("2000-02-29T12:00:00.5+01:00", 951_822_000.5),
        ("0001-01-01T00:00:00Z", -62_135_596_800), ("1969-12-31T23:59:59.999Z", -0.001),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799.999), ("2026-11-21T09:57:13.424Z", 1_795_255_033.424),
    ])
    func `RFC 3339 times are read and written`(text: String, seconds: Double) throws {
        let date = try #require(RFC3339.date(text))
        #expect(abs(date.timeIntervalSince1970 - seconds) < 0.000_1)
        #expect(RFC3339.date(RFC3339.text(date)).map { abs($0.timeIntervalSince(date)) < 0.000_1 } == true)
        if text.hasSuffix("4Z") { #expect(RFC3339.text(date) == text) }
    }

    @Test(arguments: ["2026-02-30T00:00:00Z", "2026-01-01", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00", "x", ""])
    func `an invalid time is nil`(text: String) { #expect(RFC3339.date(text) == nil) }
}
