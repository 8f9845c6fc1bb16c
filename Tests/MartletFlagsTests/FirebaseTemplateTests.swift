import MartletCore
import MartletFlags
import Testing

@Suite("Templates of Firebase Remote Config")
struct FirebaseTemplateTests {
    static func template(_ expression: String) throws -> JSONValue {
        .object([
            .init(
                "conditions",
                .array([.object([.init("name", .string("c")), .init("expression", .string(expression))])])),
            .init(
                "parameters",
                try .parse(#"{"p":{"defaultValue":{"value":"no"},"conditionalValues":{"c":{"value":"yes"}}}}"#)),
        ])
    }

    @Test(
        "Conditions keep their meaning",
        arguments: [
            ("device.os == 'ios'", #"{"platform":"ios"}"#, true),
            ("device.os == 'ios'", #"{"platform":"android"}"#, false),
            ("device.country in ['CH', 'us']", #"{"country":"ch"}"#, true),
            ("device.language in ['en','de-CH']", #"{"language":"en-GB"}"#, true),
            ("device.language in ['de-CH']", #"{"language":"de"}"#, false),
            ("app.version.>=(['1.10.0'])", #"{"appVersion":"1.9.0"}"#, false),
            ("app.version >= '1.9.0' && device.os == 'ios'", #"{"appVersion":"1.10.0","platform":"ios"}"#, true),
            ("app.version.contains(['beta', 'rc.'])", #"{"appVersion":"1.0.0-rc.1"}"#, true),
            ("app.version.contains(['rc.'])", #"{"appVersion":"1.0.0-rc1"}"#, false),
            ("app.version.exactlyMatches(['1.0', '1.1'])", #"{"appVersion":"1.1"}"#, true),
            ("app.build.<(['600'])", #"{"appBuild":"599"}"#, true),
            ("app.userProperty['tier'].exactlyMatches(['gold'])", #"{"userProperty":{"tier":"gold"}}"#, true),
            ("app.userProperty['age'] >= 21", #"{"userProperty":{"age":20}}"#, false),
            ("app.customSignal['k'].notContains(['x'])", #"{"customSignal":{"k":"axb"}}"#, false),
            ("app.userProperty['id'].matches(['^(133|154)$'])", #"{"userProperty":{"id":"154"}}"#, true),
            ("device.dateTime >= dateTime('2026-07-01T00:00:00', 'Europe/Zurich')", #"{"now":1782856800}"#, true),
            ("device.dateTime >= dateTime('2026-07-01T00:00:00', 'Europe/Zurich')", #"{"now":1782856799}"#, false),
            ("dateTime < dateTime('2026-07-01T00:00:00')", #"{"now":1782863999}"#, true),
            ("app.firstOpenTimestamp > ('2026-01-01T00:00:00')", #"{"firstOpen":"2025-12-31"}"#, false),
            ("app.firebaseInstallationId in ['abc']", #"{"id":"abc"}"#, true),
            ("app.id == '1:1:ios:a'", #"{"appId":"1:1:ios:a"}"#, true),
            ("true", "{}", true), ("false && true", "{}", false), ("percent <= 100", #"{"id":"x"}"#, true),
            ("percent > 100", #"{"id":"x"}"#, false),
            // Published cases of firebase-admin-node.
            ("percent('3') between 0 and 50", #"{"id":"three"}"#, true),
            ("percent('4') between 0 and 50", #"{"id":"four"}"#, false),
            ("percent('hêl£o') <= 50", #"{"id":"wørlÐ"}"#, false),
        ])
    func conditions(_ expression: String, _ attributes: String, _ isTrue: Bool) throws {
        let (document, issues) = FirebaseTemplate.translate(try Self.template(expression))
        #expect(issues == [])
        var compiler = FlagDocumentCompiler()
        let flags = compiler.compile(document)
        #expect(compiler.issues == [])
        let answer = flags.evaluate("p", for: Subject(FlagAttributes(try .parse(attributes))))
        #expect(answer?.value.text == (isTrue ? #""yes""# : #""no""#), "\(document.text)")
    }

    @Test(
        "Unsupported parts are refused with a reason",
        arguments: [
            "app.audiences.inAtLeastOne(['paid'])", "device.os == 'ios' || true", "percent == 5", "percent('a'",
            "app.browserAndVersion.anyOf(['x'])",
            "device.dateTime < dateTime('2026-07-01T00:00:00', 'Mars/Phobos')",
            "device.dateTime < dateTime('tomorrow')", "", "device.os ==", "app.version.above(['1'])",
            "app.userProperty['a.b'] == 'c'", "device.os == 'ios", "app.build.>=(['1','2'])",
        ])
    func refused(_ expression: String) throws {
        let issues = FirebaseTemplate.translate(try Self.template(expression)).issues
        #expect(
            issues.map(\.code) == ["untranslatable-condition"] && issues.first?.path == "/conditions/0/expression",
            "\(issues)")
    }

    @Test("Parameters keep their types, digits, groups and the order of conditions")
    func parameters() throws {
        let template = """
            {"conditions":[{"name":"iOS users","expression":"device.os == 'ios'","tagColor":"BLUE"},{"name":"all","expression":"true"}],
             "parameters":{"rate":{"defaultValue":{"value":"1.50"},"valueType":"NUMBER","description":"A rate",
               "conditionalValues":{"all":{"value":"3"},"iOS users":{"value":"2.0"}}},
              "_on":{"defaultValue":{"value":"TRUE"},"valueType":"BOOLEAN"}},
             "parameterGroups":{"g":{"parameters":{"menu":{"defaultValue":{"value":"[1.0]"},"valueType":"JSON"}}}},"version":{"versionNumber":"12"}}
            """
        let (document, issues) = FirebaseTemplate.translate(try .parse(template))
        #expect(issues == [])
        #expect(
            document["flags"]?.text
                == #"{"rate":{"description":"A rate","type":"number","default":1.50,"rules":[{"when":"iOS users","value":2.0},{"when":"all","value":3}]},"#
                + #""_on":{"type":"boolean","default":true},"menu":{"type":"json","default":[1.0]}}"#)
        var compiler = FlagDocumentCompiler()
        let flags = compiler.compile(document)
        #expect(compiler.issues == [])
        #expect(flags.evaluate("rate", for: Subject(["platform": .string("ios")]))?.value.text == "2.0")
        #expect(flags.evaluate("rate", for: Subject([:]))?.value.text == "3")
    }

    @Test(
        "Unsupported values are refused with their path",
        arguments: [
            (
                #"{"p":{"defaultValue":{"useInAppDefault":true}}}"#, "untranslatable-value",
                "/parameters/p/defaultValue/useInAppDefault"
            ),
            (
                #"{"p":{"defaultValue":{"value":"x"},"valueType":"NUMBER"}}"#, "wrong-type",
                "/parameters/p/defaultValue/value"
            ),
            (#"{"p":{"defaultValue":{"value":"x"},"valueType":"DATE"}}"#, "invalid-type", "/parameters/p/valueType"),
            (#"{"p":{"conditionalValues":{}}}"#, "missing-field", "/parameters/p/defaultValue"),
            (
                #"{"p":{"defaultValue":{"value":"x"},"conditionalValues":{"c":{"value":"y"}}}}"#, "unknown-condition",
                "/parameters/p/conditionalValues/c"
            ),
        ])
    func values(_ parameters: String, _ code: String, _ path: String) throws {
        let issues = FirebaseTemplate.translate(try .parse(#"{"parameters":\#(parameters)}"#)).issues
        #expect(issues.contains { $0.code == code && $0.path == path && $0.isError }, "\(issues)")
    }
}
