import Foundation
import MartletCore
import MartletSchema
import MartletTesting
import Testing

@Suite struct TypeScriptTypesTests {
    /// Names that are not identifiers, comments that would end early, and every kind of type.
    private static let odd = ##"""
        {"$defs":{"place":{"type":"object","description":"Where\nit is */","properties":{"city":{"type":"string"}}}},
         "title":"An event","required":["class","2nd item"],"properties":{
          "class":{"type":"string"},"2nd item":{"type":"integer"},"\"\\\u0007\u2028":{"type":["number","null"]},
          "kind":{"enum":["a b","\"\u2029",1,true,null]},"one":{"const":"x"},"list":{"enum":[[1]]},
          "place":{"$ref":"#/$defs/place","title":"Mine"},"places":{"type":"array","items":{"$ref":"#/$defs/place"}},
          "at":{"type":["Date","null"]},"who":{"type":"Pointer","className":"_User"},"geo":{"type":"GeoPoint"},
          "f":{"type":"File"},"b":{"type":"Bytes"},"p":{"type":"Polygon"},"r":{"type":"Relation"},"any":{},
          "map":{"type":"object","additionalProperties":{"type":"integer"}},"free":{"type":"object"},"l":{"type":"array"},
          "deep":{"type":"array","items":{"type":["array","string"],"items":{"type":["string","null"]}}}}}
        """##

    private func text(_ schemas: (String, String)...) throws -> String {
        TypeScriptTypes.text(for: try schemas.map { ($0, try JSONSchema(parsing: $1.utf8).document) })
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/tsc")), .timeLimit(.minutes(5)))
    func `tsc accepts the types of schemas with odd names, and values that fit them`() async throws {
        let use = """
            const event: Collections["class-x"] = { "class": "c", "2nd item": 2, kind: "a b", one: "x", place: { city: "Bern" },
                at: { __type: "Date", iso: "2026-01-01T00:00:00.000Z" }, map: { a: 1 }, deep: [["a", null], "b"] };
            // @ts-expect-error
            const other: Collections["class-x"] = { "class": "c" };
            """
        let text = try text(
            ("class-x", Self.odd), ("String", "{}"), ("empty", "true"), ("MartletDate", "{}"), ("Collections", "{}"))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("types-\(UUID()).ts")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data((text + use).utf8).write(to: file)
        let status = try await onOwnThread {
            let compiler = Process()
            compiler.executableURL = URL(fileURLWithPath: "/usr/bin/tsc")
            compiler.arguments = ["--strict", "--noEmit", "--target", "es2020", file.path]
            try compiler.run()
            compiler.waitUntilExit()
            return compiler.terminationStatus
        }
        #expect(status == 0, "\(text)")
    }

    @Test func `the text follows the schema, in its order`() throws {
        let schema = ##"""
            {"title":"A note","required":["text"],"properties":{
             "text":{"type":"string","description":"What it says"},"state":{"type":"string","enum":["open","done"]},
             "tags":{"type":"array","items":{"type":"string"}},"place":{"type":"object","properties":{"at":{"type":"GeoPoint"}}}}}
            """##
        let expected = """
            /** A note */
            export interface Notes {
                /** What it says */
                "text": string;
                "state"?: "open" | "done";
                "tags"?: (string)[];
                "place"?: {
                    "at"?: MartletGeoPoint;
                };
            }

            /** The types of the collections, by name. */
            export interface Collections {
                "Notes": Notes;
            }

            """
        let text = try text(("Notes", schema))
        #expect(text.contains(expected), "\(text)")
    }

    @Test func `the text does not depend on the order of the collections`() throws {
        #expect(try text(("A", Self.odd), ("B", "{}")) == text(("B", "{}"), ("A", Self.odd)))
    }
}
