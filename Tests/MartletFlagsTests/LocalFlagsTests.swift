import Foundation
import MartletCore
import MartletFlagValues
import MartletFlags
import MartletKit
import Testing

@testable import MartletLocalFlags

/// Devices and the server evaluate flags with different code, which must agree.
@Suite("Flags that devices evaluate")
struct LocalFlagsTests {
    /// The flags as a device reads them.
    private static func device(_ flags: FlagDocument) throws -> [String: LocalFlag] {
        let members = flags.flags.compactMap { flags.localMember($0) }.joined(separator: ",")
        return LocalFlag.all(in: try JSON(parsing: Data(#"{"format":1,"version":1,"flags":{\#(members)}}"#.utf8)))
    }

    private static func answers(
        _ flags: FlagDocument, _ device: [String: LocalFlag], _ key: String, _ attributes: String
    ) throws -> (server: EvaluatedFlag, device: EvaluatedFlag?) {
        let answer = try #require(flags.evaluate(key, for: Subject(FlagAttributes(try .parse(attributes)))))
        let server = EvaluatedFlag(
            value: try JSON(parsing: Data(answer.value.text.utf8)), variant: answer.variant,
            reason: answer.reason.rawValue)
        let subject = FlagValue(try JSON(parsing: Data(attributes.utf8)))
        return (server, device[key]?.evaluate(for: subject))
    }

    @Test("A device and the server give the same answers for random flags and attributes")
    func random() throws {
        var random = RandomFlags(seed: 22)
        var reasons: [String: Int] = [:]
        for _ in 0..<150 {
            let document = random.document()
            let (flags, issues) = try FlagDocumentTests.compile(document)
            try #require(issues.filter { $0.isError } == [], "\(document)")
            let device = try Self.device(flags)
            for _ in 0..<8 {
                let attributes = random.attributes()
                for flag in flags.flags {
                    let answers = try Self.answers(flags, device, flag.key, attributes)
                    reasons[answers.server.reason, default: 0] += 1
                    // A flag that is off is not given to devices.
                    if !flag.isEnabled {
                        try #require(answers.device == nil)
                    } else if answers.device != answers.server {
                        Issue.record("\(answers)\n\(flag.key) of \(document)\n\(attributes)")
                    }
                }
            }
        }
        // The test would prove nothing if all rules were alike.
        for reason in ["TARGETING_MATCH", "SPLIT", "UNKNOWN", "STATIC", "DISABLED"] {
            #expect(reasons[reason, default: 0] > 30, "\(reasons)")
        }
    }

    @Test("A subject exactly at the border of a share is in the same share on a device and on the server")
    func borders() throws {
        let id = try #require((0..<200_000).first { FlagHash.version2.bucket(of: "u\($0)", seed: "s") == 0.5 })
        let (flags, issues) = try FlagDocumentTests.compile(
            """
            {"flags":{"excluded":{"type":"boolean","default":false,"localEvaluation":true,
              "rules":[{"value":true,"percent":50,"seed":"s"}]},
            "included":{"type":"boolean","default":false,"localEvaluation":true,
              "rules":[{"force":true,"coverage":0.5,"hashVersion":2,"seed":"s"}]}}}
            """)
        #expect(issues == [])
        let device = try Self.device(flags)
        for (key, value) in [("excluded", false), ("included", true)] {
            let answers = try Self.answers(flags, device, key, #"{"id":"u\#(id)"}"#)
            #expect(answers.device == answers.server && answers.server.value == .bool(value), "\(answers)")
        }
    }

    @Test("A device matches GrowthBook's published conditions", arguments: GrowthBookCase.all("evalCondition"))
    func published(_ given: GrowthBookCase) throws {
        var compiler = ConditionCompiler()
        _ = compiler.compile(given.parts[1])
        var conditions = LocalConditions()
        let condition = conditions.resolve(given.parts[1], at: "")
        // Such conditions cannot be published, or not for devices.
        guard conditions.refusals.isEmpty, !compiler.issues.contains(where: { $0.isError }) else { return }
        func value(_ json: JSONValue) throws -> FlagValue { FlagValue(try JSON(parsing: Data(json.text.utf8))) }
        let test = try LocalCondition.test(try value(condition))
        #expect(test(try value(given.parts[2])) == given.parts[3].bool)
    }

    @Test(
        "A flag for devices cannot use what only the server knows",
        arguments: [
            (#"{"when":{"user.roles":{"$in":["a"]}},"value":true}"#, "when/user.roles"),
            (#"{"when":{"$not":{"user.profile.plan":"a"}},"value":true}"#, "when/$not/user.profile.plan"),
            (#"{"when":{"user":null},"value":true}"#, "when/user"),
            (#"{"when":{"now":{"$after":"2026-01-01"}},"value":true}"#, "when/now"),
            (#"{"when":{"since":{"$before":"2026-01-01"}},"value":true}"#, "when/since/$before"),
            (#"{"when":{"$or":[{"a":1},{"a":{"$regex":"b"}}]},"value":true}"#, "when/$or/1/a/$regex"),
            (#"{"when":{"id":{"$inGroup":"testers"}},"value":true}"#, "when/id/$inGroup"),
            (#"{"when":{"$percent":{"hash":"sha256","to":5}},"value":true}"#, "when/$percent"),
            (#"{"value":true,"percent":5,"by":"now"}"#, ""),
            (#"{"value":true,"parentConditions":[{"id":"g","condition":{"value":true}}]}"#, "parentConditions"),
        ])
    func refused(_ rule: String, _ path: String) throws {
        func errors(_ member: String) throws -> [FlagIssue] {
            try FlagDocumentTests.compile(
                """
                {"flags":{"f":{"type":"boolean","default":false,\(member)"rules":[\(rule)]},
                  "g":{"type":"boolean","default":true}},"savedGroups":{"testers":["a"]}}
                """
            ).issues.filter(\.isError)
        }
        let refused = try errors(#""localEvaluation":true,"#)
        #expect(refused.map(\.code) == ["not-local"], "\(refused)")
        #expect(refused.first?.path == "/flags/f/rules/0" + (path.isEmpty ? "" : "/" + path))
        #expect(try errors("") == [])
    }

    @Test("Named conditions are replaced, refused where they are written, and limited in size and depth")
    func named() throws {
        func compile(_ conditions: String) throws -> (flags: FlagDocument, issues: [FlagIssue]) {
            try FlagDocumentTests.compile(
                #"{"flags":{"f":{"type":"boolean","default":false,"localEvaluation":true,"#
                    + #""rules":[{"when":"top","value":true}]}},"conditions":\#(conditions)}"#)
        }
        let fine = try compile(#"{"top":{"a":1,"$condition":"secret-name"},"secret-name":{"b":2}}"#)
        #expect(fine.issues == [])
        let member = try #require(fine.flags.localMember(fine.flags.flags[0]))
        #expect(member.contains(#"{"$and":[{"a":1},{"b":2}]}"#) && !member.contains("secret-name"), "\(member)")
        let refused = try compile(#"{"top":{"$condition":"inner"},"inner":{"now":{"$after":"2026-01-01"}}}"#)
        #expect(refused.issues.map(\.path) == ["/conditions/inner/now"])
        let large = String(repeating: "x", count: 150_000)
        let twice = try compile(
            #"{"top":{"$or":[{"$condition":"inner"},{"$condition":"inner"}]},"inner":{"a":"\#(large)"}}"#)
        #expect(Set(twice.issues.map(\.code)) == ["too-large"], "\(twice.issues.map(\.path))")
        let empty = Array(repeating: "{}", count: 2_000).joined(separator: ",")
        let uses = Array(repeating: #"{"$condition":"inner"}"#, count: 100).joined(separator: ",")
        let many = try compile(#"{"top":{"$or":[\#(uses)]},"inner":{"$and":[\#(empty)]}}"#)
        #expect(many.issues.contains { $0.code == "too-large" && $0.path.hasPrefix("/conditions/inner/") })
        let circle = try compile(#"{"top":{"$and":[{"$condition":"top"},{"$condition":"top"}]}}"#)
        #expect(circle.issues.contains { $0.code == "condition-cycle" })
        // Each of them adds four levels of JSON.
        func nested(_ count: Int) throws -> [FlagIssue] {
            let names = (1...count).map { #""c\#($0)":{"$or":[{"a":1},{"$condition":"c\#($0 - 1)"}]}"# }
            return try compile(
                #"{"top":{"$condition":"c\#(count)"},"c0":{"b":2},\#(names.joined(separator: ","))}"#
            ).issues
        }
        #expect(try nested(13) == [])
        let deep = try nested(14)
        #expect(deep.map(\.code) == ["not-local"] && deep.first?.path == "/flags/f/rules/0/when", "\(deep)")
    }

    @Test("A device leaves flags with unknown parts, and rules of a newer format, to the server")
    func unknown() throws {
        func keys(_ rule: String, format: Int = 1) throws -> [String] {
            func flag(_ rule: String) -> String {
                #"{"value":false,"variant":"off","reason":"UNKNOWN","rules":[\#(rule)]}"#
            }
            let known = #"{"condition":{"a":1},"variations":[{"value":true,"variant":"on"}]}"#
            let text = #"{"format":\#(format),"version":1,"flags":{"known":\#(flag(known)),"other":\#(flag(rule))}}"#
            return LocalFlag.all(in: try JSON(parsing: Data(text.utf8))).keys.sorted()
        }
        let variations = #""variations":[{"value":true,"variant":"on"}]"#
        #expect(try keys(#"{\#(variations)}"#) == ["known", "other"])
        #expect(try keys(#"{\#(variations)}"#, format: 2) == [])
        for rule in [
            #"{"condition":{"a":{"$near":1}},\#(variations)}"#, #"{"condition":{"$xor":[]},\#(variations)}"#,
            #"{"sticky":true,\#(variations)}"#, "{}", "[]",
            #"{"attribute":"id","seed":"s","hashVersion":3,"ranges":[[0,1]],\#(variations)}"#,
            #"{"condition":{"$percent":{"seed":"s","to":5,"salt":1}},\#(variations)}"#,
        ] {
            #expect(try keys(rule) == ["known"], "\(rule)")
        }
    }
}
