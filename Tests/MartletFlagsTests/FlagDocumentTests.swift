import Foundation
import MartletCore
import MartletFlags
import Testing

@Suite("Documents of flags")
struct FlagDocumentTests {
    static let document = """
        {"flags": {
          "checkout": {"type": "boolean", "default": false, "description": "The new checkout.",
            "rules": [{"id": "staff", "when": "staff", "value": true}, {"when": {"country": {"$in": ["CH", "DE"]}}, "value": true, "percent": 50}]},
          "price": {"type": "number", "default": 1.0, "variants": {"low": 0.50, "high": 2e0},
            "rules": [{"id": "trial", "split": [{"variant": "low", "percent": 30}, {"variant": "high", "percent": 30}], "seed": "price-1"}]},
          "layout": {"type": "json", "default": {"columns": 1}, "variants": {"wide": {"columns": 3, "gap": 1.50}},
            "schema": {"type": "object", "required": ["columns"], "properties": {"columns": {"type": "integer", "minimum": 1, "maximum": 4}}},
            "rules": [{"when": ["new-app", "staff"], "variant": "wide"}]},
          "greeting": {"type": "string", "default": "Hello"},
          "sale": {"type": "boolean", "default": false, "rules": [{"when": {"now": {"$after": "2026-12-01T00:00:00Z", "$before": "2026-12-27"}}, "value": true}]},
          "old": {"type": "boolean", "default": true, "enabled": false, "rules": [{"value": false}]},
          "app.gb": {"type": "string", "default": "control",
            "rules": [{"condition": {"id": {"$inGroup": "testers"}}, "variations": ["control", "red"], "weights": [0, 1], "hashVersion": 2, "key": "exp",
              "meta": [{"key": "c"}, {"key": "r"}]}]}},
         "conditions": {"staff": {"email": {"$regexi": "@example\\\\.com$"}}, "new-app": {"appVersion": {"$vgte": "2.0.0"}}},
         "savedGroups": {"testers": ["t1", "t2"]}}
        """

    static func compile(_ text: String) throws -> (flags: FlagDocument, issues: [FlagIssue]) {
        var compiler = FlagDocumentCompiler()
        let flags = compiler.compile(try .parse(text))
        return (flags, compiler.issues)
    }

    @Test(
        "A valid document has no issues, and gives each kind of user the right answer",
        arguments: [
            ("checkout", #"{"email":"sam@EXAMPLE.com"}"#, "true", "on", FlagAnswer.Reason.targetingMatch),
            ("checkout", #"{"email":"sam@example.org"}"#, "false", "off", .unknown),
            ("checkout", #"{"id":"u6","country":"CH"}"#, "false", "off", .unknown),
            ("checkout", #"{"id":"u4","country":"DE"}"#, "true", "on", .split),
            ("price", #"{"id":"u1"}"#, "1.0", "default", .unknown),
            ("price", #"{"id":"u2"}"#, "0.50", "low", .split),
            ("price", #"{"id":"u3"}"#, "2e0", "high", .split),
            ("price", "{}", "1.0", "default", .unknown),
            (
                "layout", #"{"email":"a@example.com","appVersion":"2.1.0"}"#, #"{"columns":3,"gap":1.50}"#, "wide",
                .targetingMatch
            ),
            ("layout", #"{"email":"a@example.com","appVersion":"1.10.0"}"#, #"{"columns":1}"#, "default", .unknown),
            ("greeting", "{}", #""Hello""#, "default", .constant),
            ("sale", #"{"now":1764547200}"#, "false", "off", .unknown),
            ("sale", #"{"now":1796083200}"#, "true", "on", .targetingMatch),
            ("sale", #"{"now":1798329600}"#, "false", "off", .unknown),
            ("old", "{}", "true", "on", .disabled),
            ("app.gb", #"{"id":"t1"}"#, #""red""#, "r", .split),
            ("app.gb", #"{"id":"t3"}"#, #""control""#, "default", .unknown),
        ])
    func answers(_ key: String, _ attributes: String, _ value: String, _ variant: String, _ reason: FlagAnswer.Reason)
        throws
    {
        let (flags, issues) = try Self.compile(Self.document)
        #expect(issues == [])
        let answer = try #require(flags.evaluate(key, for: Subject(FlagAttributes(try .parse(attributes)))))
        #expect("\(answer.value.text) \(answer.variant) \(answer.reason)" == "\(value) \(variant) \(reason)")
        #expect(flags.evaluateAll(for: Subject([:])).count == 7 && flags.evaluate("nothing", for: Subject([:])) == nil)
    }

    @Test("A growing share keeps everyone in it, and has the requested size")
    func shares() throws {
        func isIn(_ percent: Int) throws -> [Bool] {
            let (flags, _) = try Self.compile(
                #"{"flags":{"f":{"type":"boolean","default":false,"rules":[{"value":true,"percent":\#(percent)}]}}}"#)
            return (0..<4_000).map {
                flags.evaluate("f", for: Subject(["id": .string("user-\($0)")]))?.value.isOn == true
            }
        }
        let (few, more) = (try isIn(10), try isIn(30))
        #expect(zip(few, more).allSatisfy { !$0 || $1 })
        // The shares may be off by four standard deviations.
        #expect(abs(few.count { $0 } - 400) < 76 && abs(more.count { $0 } - 1_200) < 116)
        let (nobody, everybody) = (try isIn(0), try isIn(100))
        #expect(!nobody.contains(true) && !everybody.contains(false))
    }

    @Test(
        "A disabled rule has no effect",
        arguments: [
            #""value":"x""#, #""split":[{"value":"x","percent":50},{"value":"y","percent":50}]"#,
            #""variations":["x","y"],"hashVersion":2"#,
            #""parentConditions":[{"id":"g","condition":{"value":true},"gate":true}]"#,
        ])
    func disabledRules(_ rule: String) throws {
        func value(isEnabled: Bool) throws -> FlagAnswer? {
            let (flags, issues) = try Self.compile(
                #"{"flags":{"f":{"type":"string","default":"d","rules":[{"enabled":\#(isEnabled),\#(rule)},{"value":"next"}]},"g":{"type":"boolean","default":false}}}"#
            )
            #expect(issues.allSatisfy { !$0.isError }, "\(issues)")
            return flags.evaluate("f", for: Subject(["id": .string("u")]))
        }
        #expect(try value(isEnabled: false)?.value.text == #""next""#)
        #expect(try value(isEnabled: true)?.value.text != #""next""#)
    }

    @Test("Variations depend on the attribute that `by` names")
    func by() throws {
        let (flags, _) = try Self.compile(
            #"{"flags":{"f":{"type":"string","default":"d","rules":[{"variations":["x","y"],"by":"device","hashVersion":2}]}}}"#
        )
        #expect(flags.evaluate("f", for: Subject(["id": .string("u")]))?.reason == .unknown)
        #expect(flags.evaluate("f", for: Subject(["device": .string("u")]))?.reason == .split)
    }

    @Test("The instants in conditions divide time into periods")
    func periods() throws {
        let (flags, _) = try Self.compile(Self.document)
        #expect(flags.instants == [1_796_083_200, 1_798_329_600])
        #expect(flags.period(at: 0) == 0 && flags.period(at: 1_796_083_200) == 1 && flags.period(at: 2e9) == 2)
    }

    static func flag(_ text: String) -> String { #"{"flags":{"f":\#(text)}}"# }

    @Test(
        "An error names its path",
        arguments: [
            (#"{"flags":{"f":{"type":"boolean","default":1}}}"#, "wrong-type", "/flags/f/default"),
            (#"{"flags":{"f":{"type":"bool","default":true}}}"#, "invalid-type", "/flags/f/type"),
            (#"{"flags":{"f":{"type":"boolean"}}}"#, "missing-field", "/flags/f/default"),
            (#"{"flags":{"a/b":{"type":"boolean","default":true}}}"#, "invalid-name", "/flags/a~1b"),
            (
                #"{"flags":{"f":{"type":"boolean","default":true},"f":{"type":"boolean","default":true}}}"#,
                "duplicate-name", "/flags/f"
            ),
            (#"{"flag":{}}"#, "unknown-field", "/flag"),
            (
                flag(#"{"type":"boolean","default":true,"rules":[{"when":{"a":{"$gtt":1}},"value":false}]}"#),
                "unknown-operator", "/flags/f/rules/0/when/a/$gtt"
            ),
            (
                flag(#"{"type":"boolean","default":true,"rules":[{"when":"beta","value":false}]}"#),
                "unknown-condition", "/flags/f/rules/0/when"
            ),
            (
                flag(#"{"type":"boolean","default":true,"rules":[{"when":{"id":{"$inGroup":"g"}},"value":false}]}"#),
                "unknown-group", "/flags/f/rules/0/when/id/$inGroup"
            ),
            (
                flag(#"{"type":"boolean","default":true,"rules":[{"when":{"a":{"$regex":"(a"}},"value":false}]}"#),
                "invalid-pattern", "/flags/f/rules/0/when/a/$regex"
            ),
            (
                flag(#"{"type":"boolean","default":true,"rules":[{"when":{"now":"2026-01-01"},"value":false}]}"#),
                "invalid-operator", "/flags/f/rules/0/when/now"
            ),
            (
                flag(#"{"type":"boolean","default":true,"rules":[{"when":{"now":{"$after":"soon"}},"value":false}]}"#),
                "invalid-time", "/flags/f/rules/0/when/now/$after"
            ),
            (
                flag(#"{"type":"boolean","default":true,"rules":[{"when":{"$percent":{"to":10}},"value":false}]}"#),
                "missing-field", "/flags/f/rules/0/when/$percent"
            ),
            (
                flag(#"{"type":"boolean","default":true,"rules":[{"value":false,"percent":101}]}"#), "invalid-percent",
                "/flags/f/rules/0/percent"
            ),
            (
                flag(#"{"type":"boolean","default":true,"rules":[{"value":"no"}]}"#), "wrong-type",
                "/flags/f/rules/0/value"
            ),
            (flag(#"{"type":"boolean","default":true,"rules":[{"when":{}}]}"#), "missing-field", "/flags/f/rules/0"),
            (
                flag(#"{"type":"boolean","default":true,"rules":[{"value":true,"variant":"a"}]}"#), "ambiguous-rule",
                "/flags/f/rules/0"
            ),
            (
                flag(#"{"type":"string","default":"","rules":[{"variations":["a","b"],"percent":5}]}"#),
                "ambiguous-rule", "/flags/f/rules/0/percent"
            ),
            (
                flag(#"{"type":"string","default":"","rules":[{"variant":"a"}]}"#), "unknown-variant",
                "/flags/f/rules/0/variant"
            ),
            (
                flag(
                    #"{"type":"string","default":"","rules":[{"split":[{"value":"a","percent":60},{"value":"b","percent":60}]}]}"#
                ), "invalid-split", "/flags/f/rules/0/split"
            ),
            (
                flag(
                    #"{"type":"string","default":"","rules":[{"variations":["a","b"],"weights":[0.9,0.9],"hashVersion":2}]}"#
                ), "invalid-weights", "/flags/f/rules/0/weights"
            ),
            (
                flag(#"{"type":"boolean","default":true,"rules":[{"parentConditions":[{"id":"g"}]}]}"#), "unknown-flag",
                "/flags/f/rules"
            ),
            (
                flag(
                    #"{"type":"boolean","default":true,"rules":[{"parentConditions":[{"id":"f","condition":{"value":true}}],"value":false}]}"#
                ), "flag-cycle", "/flags/f/rules"
            ),
            (
                flag(#"{"type":"json","default":{"n":5},"schema":{"properties":{"n":{"maximum":4}}}}"#),
                "schema-mismatch", "/flags/f/default/n"
            ),
            (flag(#"{"type":"json","default":{},"schema":{"oneOf":[]}}"#), "invalid-schema", "/flags/f/schema/oneOf"),
            (flag(#"{"type":"boolean","default":true,"conditions":{}}"#), "unknown-field", "/flags/f/conditions"),
            (
                #"{"flags":{},"conditions":{"a":{"$condition":"b"},"b":{"$condition":"a"}}}"#, "condition-cycle",
                "/conditions/b/$condition"
            ),
            (#"{"flags":{},"conditions":{"a":{"x":{"$foo":1}}}}"#, "unknown-operator", "/conditions/a/x/$foo"),
        ])
    func errors(_ text: String, _ code: String, _ path: String) throws {
        let issues = try Self.compile(text).issues.filter(\.isError)
        #expect(issues.contains { $0.code == code && $0.path == path }, "\(issues)")
    }

    @Test(
        "Doubtful parts cause warnings, not errors",
        arguments: [
            (
                flag(#"{"type":"boolean","default":true,"rules":[{"value":false},{"when":{"a":1},"value":true}]}"#),
                "unreachable-rule", "/flags/f/rules/1"
            ),
            (
                flag(#"{"type":"boolean","default":true,"rules":[{"value":false,"percent":5,"by":"naïve"}]}"#),
                "non-ascii-hash", "/flags/f/rules/0/by"
            ),
            (
                flag(#"{"type":"boolean","default":true,"rules":[{"force":false,"coverage":0.5}]}"#), "biased-hash",
                "/flags/f/rules/0"
            ),
            (
                flag(#"{"type":"boolean","default":true,"rules":[{"value":false,"when":{"a":{"$in":[1],"b":2}}}]}"#),
                "mixed-operators", "/flags/f/rules/0/when/a"
            ),
            (
                flag(#"{"type":"boolean","default":true,"rules":[{"when":{"a":{"$regex":"a{250}"}},"value":false}]}"#),
                "long-pattern", "/flags/f/rules/0/when/a/$regex"
            ),
            (#"{"flags":{},"conditions":{"a":{"x":1}}}"#, "unused-condition", "/conditions/a"),
            (#"{"flags":{},"savedGroups":{"a":[1]}}"#, "unused-group", "/savedGroups/a"),
        ])
    func warnings(_ text: String, _ code: String, _ path: String) throws {
        let issues = try Self.compile(text).issues
        #expect(issues.contains { $0.code == code && $0.path == path && !$0.isError }, "\(issues)")
        #expect(issues.allSatisfy { !$0.isError }, "\(issues)")
    }

    @Test("The first error is not hidden by warnings")
    func errorAfterWarnings() throws {
        let rule = #"{"force":false,"coverage":0.5}"#
        let flags = (0..<250).map { #""f\#($0)":{"type":"boolean","default":true,"rules":[\#(rule)]}"# }
        let issues = try Self.compile(
            #"{"flags":{\#(flags.joined(separator: ",")),"last":{"type":"bool","default":true}}}"#
        ).issues
        #expect(issues.count == 201)
        #expect(issues.last?.code == "invalid-type" && issues.last?.path == "/flags/last/type")
    }

    @Test("Documents that would take too long are refused")
    func limits() throws {
        // Each condition contains the one before it twice: 2^40 tests.
        let conditions = (1...40).map {
            #""c\#($0)":{"$and":[{"$condition":"c\#($0 - 1)"},{"$condition":"c\#($0 - 1)"}]}"#
        }.joined(separator: ",")
        let doubling =
            #"{"flags":{"f":{"type":"boolean","default":true,"rules":[{"when":"c40","value":false}]}},"conditions":{"c0":{"a":1},\#(conditions)}}"#
        #expect(try Self.compile(doubling).issues.contains { $0.code == "too-complex" || $0.code == "too-deep" })
        let flags = (0...FlagDocument.maximumFlags).map { #""f\#($0)":{"type":"boolean","default":true}"# }.joined(
            separator: ",")
        #expect(
            try Self.compile(#"{"flags":{\#(flags)}}"#).issues.contains { $0.code == "too-many" && $0.path == "/flags" }
        )
    }

    @Test("Conditions, groups and flags may have names of at most 256 bytes")
    func names() throws {
        func issues(_ length: Int) throws -> [FlagIssue] {
            let name = String(repeating: "x", count: length)
            return try Self.compile(
                #"{"flags":{"\#(name)":{"type":"boolean","default":true,"rules":[{"when":"\#(name)","value":false}]}},"#
                    + #""conditions":{"\#(name)":{"id":{"$inGroup":"\#(name)"}}},"savedGroups":{"\#(name)":["a"]}}"#
            ).issues
        }
        #expect(try issues(256) == [])
        let name = String(repeating: "x", count: 257)
        let refused = try issues(257).filter { $0.code == "invalid-name" }.map(\.path)
        #expect(Set(refused) == ["/flags/\(name)", "/conditions/\(name)", "/savedGroups/\(name)"])
    }

    @Test("Rules that name the same variant share the memory of its value")
    func sharedVariants() throws {
        let (flags, issues) = try Self.compile(
            #"{"flags":{"f":{"type":"string","default":"d","variants":{"v":"\#(String(repeating: "x", count: 100))"},"#
                + #""rules":[{"when":{"a":1},"variant":"v"},{"when":{"a":2},"variant":"v"},"#
                + #"{"split":[{"variant":"v","percent":100},{"value":"other","percent":0}]}]}}}"#)
        #expect(issues == [])
        func address(_ attributes: FlagAttributes) throws -> UInt {
            let answer = try #require(flags.evaluate("f", for: Subject(attributes)))
            #expect(answer.variant == "v")
            let address = answer.value.text.utf8.withContiguousStorageIfAvailable { UInt(bitPattern: $0.baseAddress) }
            return try #require(address)
        }
        // The document keeps all values, so those with the same address are the same bytes.
        let first = try address(["a": .number(1)])
        #expect(try address(["a": .number(2)]) == first)
        #expect(try address(["id": .string("u")]) == first)
    }

    @Test("Flags with many dependency paths are evaluated a bounded number of times")
    func prerequisites() throws {
        var compiler = FeatureCompiler()
        let parents = { (index: Int) in
            #"{"defaultValue":true,"rules":[{"parentConditions":[\#(Array(repeating: #"{"id":"f\#(index + 1)","condition":{"value":true}}"#, count: 4).joined(separator: ","))],"force":true}]}"#
        }
        let features = (0..<14).map { #""f\#($0)":\#(parents($0))"# }.joined(separator: ",")
        let set = compiler.compile(features: try .parse(#"{\#(features),"f14":{"defaultValue":true}}"#))
        #expect(set.evaluate("f0", for: Subject([:])).source == .cyclicPrerequisite)
        #expect(set.evaluate("f12", for: Subject([:])).source == .force)
    }
}
