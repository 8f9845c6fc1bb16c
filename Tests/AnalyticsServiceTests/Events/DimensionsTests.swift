import MartletCore
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService

@Suite struct DimensionsTests {
    private static func dimensions(_ context: String) throws -> Dimensions {
        Dimensions(try JSONValue(parsing: context.utf8), defaults: Dimensions())
    }

    static let releases: [(String, String?)] = [
        (#"{"version":"1.2.3","build":"45"}"#, "1.2.3+45"), (#"{"version":"1.2.3"}"#, "1.2.3"),
        (#"{"build":45}"#, "+45"),
        (#"{"version":"7","build":"7"}"#, "7"), (#"{"version":""}"#, nil), (#"{}"#, nil), (#"null"#, nil),
        (#"["1.0"]"#, nil),
    ]

    @Test(arguments: releases)
    func `a release consists of version and build`(_ app: String, _ expected: String?) throws {
        #expect(try Self.dimensions(#"{"app":\#(app)}"#).release == expected)
    }

    @Test func `systems and devices have up to two words`() throws {
        let all = try Self.dimensions(
            #"{"os":{"name":"iOS","version":"17.2"},"device":{"manufacturer":"Apple","model":"iPhone15,2"},"configVersion":12}"#
        )
        #expect(all.os == "iOS 17.2" && all.device == "Apple iPhone15,2" && all.configuration == "12")
        let some = try Self.dimensions(#"{"os":{"name":"Android"},"device":{"model":"Pixel 8"}}"#)
        #expect(some.os == "Android" && some.device == "Pixel 8" && some.configuration == nil)
    }

    static let countries: [(String, String?)] = [
        (#"{"locale":"de_CH"}"#, "CH"), (#"{"locale":"de-ch"}"#, "CH"), (#"{"locale":"zh-Hant-TW"}"#, "TW"),
        (#"{"locale":"en_US.UTF-8"}"#, "US"),
        (#"{"locale":"de_DE@euro"}"#, "DE"), (#"{"locale":"de"}"#, nil), (#"{"locale":"es-419"}"#, nil),
        (#"{"locale":"de_CH","location":{"country":"at"}}"#, "AT"), (#"{"location":{"country":"Austria"}}"#, nil),
    ]

    @Test(arguments: countries)
    func `the country is the locale's region unless it is given`(_ context: String, _ expected: String?) throws {
        #expect(try Self.dimensions(context).country == expected)
    }

    static let variants: [(String, String?)] = [
        ("checkout=dark", "checkout=dark"), ("size=b,checkout=dark", "checkout=dark, size=b"),
        (" a = 1 ,a=2, b", "a=1"), ("", nil), ("=x, y=", nil),
    ]

    @Test(arguments: variants)
    func `variants are pairs ordered by name, however they are written`(_ text: String, _ expected: String?)
        throws
    {
        #expect(Dimensions.variants(text) == expected)
        let object = try Self.dimensions(#"{"experiments":{"size":"b","checkout":"dark"}}"#)
        #expect(object.variants == "checkout=dark, size=b")
    }

    @Test func `configuration versions are read from the header's form or alone`() {
        #expect(Dimensions.version(#""12";date="2026-11-21T08:48:59Z""#) == "12")
        #expect(Dimensions.version("1.2") == "1.2")
        #expect(Dimensions.version(#""""#) == nil)
    }

    @Test func `long texts are cut between code points, and never to nothing`() {
        let text = String(repeating: "x", count: 254) + "é🇨🇭"
        #expect(text.cut == String(repeating: "x", count: 254))
        #expect((String(repeating: "x", count: 253) + "é").cut.utf8.count == 255)
        // One character of many code points.
        #expect(("a" + String(repeating: "\u{301}", count: 200)).cut == "a" + String(repeating: "\u{301}", count: 127))
        let many = (0..<100).map { "experiment-number-\($0)=variation" }.joined(separator: ",")
        let joined = Dimensions.variants(many)!
        #expect(joined.utf8.count <= 1_000 && joined.hasSuffix("=variation"))
    }
}
