import Foundation
import MartletCore
import MartletSchema
import MartletTesting
import Testing

@Suite("Swift types")
struct SwiftTypesTests {
    /// Names that Swift reserves, names that are not identifiers, and names that become the same one.
    private static let odd = ##"""
        {"$defs":{"place":{"type":"object","description":"Where\nit is","properties":{"city":{"type":"string"}}}},
         "title":"An event","description":"With \"quotes\" and \\(code)","required":["class","2nd item","unit price"],
         "properties":{
          "class":{"type":"string"},"2nd item":{"type":"integer"},"unit price":{"type":"number","title":"In CHF"},
          "unit-price":{"type":"number"},"kind":{"type":"string","enum":["a b","default","1","é\\\"\\(x)","\u0007","self"]},
          "string":{"type":"string","enum":["x"]},"date":{"type":"object","properties":{"self":{"type":"Date"}}},
          "place":{"$ref":"#/$defs/place","title":"Mine"},"places":{"type":"array","items":{"$ref":"#/$defs/place"}},
          "at":{"type":["Date","null"]},"who":{"type":"Pointer","className":"_User"},"geo":{"type":"GeoPoint"},
          "f":{"type":"File"},"b":{"type":"Bytes"},"p":{"type":"Polygon"},"r":{"type":"Relation"},"any":{},
          "map":{"type":"object","additionalProperties":{"type":"integer"}},"free":{"type":"object"},
          "l":{"type":"array"},"":{"type":"boolean"},"π":{"type":"boolean"},"init":{"type":"string"},
          "Type":{"type":"object","properties":{"Type":{"type":"object","properties":{"Protocol":{"type":"boolean"}}}}},
          "nested":{"type":"object","properties":{"nested":{"type":"array","items":{"type":"array","items":{"type":"string"}}}}}}}
        """##

    private func text(_ schemas: (String, String)...) throws -> String {
        SwiftTypes.text(for: try schemas.map { ($0, try JSONSchema(parsing: $1.utf8).document) })
    }

    @Test("Swift accepts the types of schemas with odd names", .timeLimit(.minutes(5)))
    func compiles() async throws {
        let text = try text(
            ("class-x", Self.odd),
            ("String", #"{"properties":{"String":{"type":"object","properties":{"a":{"type":"null"}}}}}"#),
            ("empty", "true"), ("MartletDate", "{}"))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("types-\(UUID()).swift")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(text.utf8).write(to: file)
        let status = try await onOwnThread {
            let compiler = Process()
            compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            compiler.arguments = ["swiftc", "-swift-version", "6", "-typecheck", "-warnings-as-errors", file.path]
            try compiler.run()
            compiler.waitUntilExit()
            return compiler.terminationStatus
        }
        #expect(status == 0, "\(text)")
    }

    @Test("The text follows the schema, in its order")
    func follows() throws {
        let schema = ##"""
            {"title":"A note","required":["text"],"properties":{
             "text":{"type":"string","description":"What it says"},"state":{"type":"string","enum":["open","done"]}}}
            """##
        let text = try text(("Notes", schema))
        let expected = """
            /// A note
            public struct Notes: Codable, Sendable, Equatable {
                /// What it says
                public var text: String
                public var state: State?

                public init(text: String, state: State? = nil) {
                    self.text = text
                    self.state = state
                }

                private enum CodingKeys: String, CodingKey {
                    case text = "text"
                    case state = "state"
                }

                public enum State: String, Codable, Sendable, Equatable, CaseIterable {
                    case open = "open"
                    case done = "done"
                }
            }

            """
        #expect(text.contains(expected), "\(text)")
    }

    @Test("The text does not depend on the order of the collections")
    func deterministic() throws {
        #expect(try text(("A", Self.odd), ("B", "{}")) == text(("B", "{}"), ("A", Self.odd)))
    }
}
