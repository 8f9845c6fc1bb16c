import Foundation
import MartletCore
import Testing

@testable import OperatorCommands

/// The file of `martlet rules`, and the printed form of a plan.
@Suite struct RulesFileTests {
    @Test func `a file has one line for each operation, and reads back as the same rules`() throws {
        let rules = try JSONValue(
            parsing:
                #"{"base":"b1","collections":{"Note":{"hidden":{},"rules":{"find":["*"],"get":[{"where":{"n":1.10}}]}},"Bike":{}}}"#
                .utf8)
        let text = RulesFile.text(of: rules)
        #expect(
            text == """
                {
                  "base": "b1",
                  "collections": {
                    "Note": {
                      "hidden": {},
                      "rules": {
                        "find": ["*"],
                        "get": [{"where":{"n":1.10}}]
                      }
                    },
                    "Bike": {}
                  }
                }
                """)
        #expect(try JSONValue(parsing: text.utf8) == rules)
    }

    @Test func `a push writes the new base into the file and changes nothing else`() throws {
        let folder = URL(fileURLWithPath: NSTemporaryDirectory()).appending(path: "rules-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "rules.json").path
        for (before, after) in [
            ("{ \"base\": \"b1\",\n  \"collections\":{} }", "{ \"base\": \"b2\",\n  \"collections\":{} }"),
            (#"{"collections":{}}"#, #"{"collections":{}}"#),
        ] {
            try Data(before.utf8).write(to: URL(fileURLWithPath: path))
            try RulesFile(path).write(base: "b2")
            #expect(try String(contentsOfFile: path, encoding: .utf8) == after)
        }
        try Data("{".utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: (any Error).self) { try RulesFile(path) }
    }

    @Test func `a plan is shown in plain lines`() throws {
        let plan = try JSONValue(
            parsing:
                #"{"access":{"before":"open","after":"closed"},"changes":[{"collection":"Note","place":"rules.find","before":["*"],"after":[]},{"collection":"Note","place":"hidden.n","after":["a"]}],"warnings":[{"place":"Note.rules.get","message":"Anyone."}]}"#
                .utf8)
        #expect(
            RulesPlan.lines(of: plan) == [
                "access: open -> closed", "Note.rules.find:", #"  - ["*"]"#, "  + []", "Note.hidden.n:",
                #"  + ["a"]"#, "warning: Note.rules.get: Anyone.",
            ])
        let none = try JSONValue(
            parsing:
                #"{"access":{"before":"open","after":"open"},"changes":[],"warnings":[{"place":"x","message":"y"}]}"#
                .utf8)
        #expect(RulesPlan.lines(of: none).isEmpty)
    }
}
