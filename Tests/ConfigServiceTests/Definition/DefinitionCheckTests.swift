import Foundation
import MartletAPI
import MartletCore
import Testing

@testable import ConfigService

@Suite struct DefinitionCheckTests {
    private func findings(_ document: JSONValue, in space: LiveSpace? = nil) -> [Finding] {
        DefinitionKind().check(document, named: "kick-in", in: space ?? LiveSpace(Self.space))
    }

    private static let space = AppSpace(appID: "app", environment: .live)

    @Test("The address book of Napton's manual is accepted, and unused parts are reported")
    func addressBook() throws {
        let findings = findings(try DefinitionFixture.json(DefinitionFixture.addressBook))
        #expect(findings.map(\.severity).allSatisfy { $0 == .warning }, "\(findings)")
        #expect(
            Set(findings.map { "\($0.code) \($0.path)" }) == [
                "insecure-url /views/ContactDetailView/contents/0/url",
                "missing-member /controllers/ContactsController/actions/0",
            ])
    }

    @Test("The events app and its change are accepted without a warning")
    func kickIn() throws {
        #expect(findings(try DefinitionFixture.kickIn("{}")) == [])
        #expect(findings(try DefinitionFixture.kickIn(DefinitionFixture.kickInChange)) == [])
    }

    @Test("The sign-up form of the events app is accepted without a warning")
    func signUp() throws {
        #expect(findings(try DefinitionFixture.kickIn(DefinitionFixture.kickInSignUp)) == [])
    }

    struct Case: CustomTestStringConvertible {
        var code: String
        var path: String
        /// A merge patch on the events app.
        var patch: String

        var testDescription: String { "\(code): \(patch.prefix(80))" }
    }

    static let refusals = [
        Case(code: "bad-shape", path: "/views", patch: #"{"views":[]}"#),
        Case(code: "bad-name", path: "/views/a~1b", patch: #"{"views":{"a/b":{}}}"#),
        Case(code: "missing-member", path: "/root_controller", patch: #"{"root_controller":null}"#),
        Case(code: "missing-member", path: "/name", patch: #"{"name":null}"#),
        Case(code: "bad-shape", path: "/minClient", patch: #"{"minClient":1.0}"#),
        Case(code: "bad-shape", path: "/requires", patch: #"{"requires":{"X":"1"}}"#),
        Case(code: "bad-shape", path: "/rollout", patch: #"{"rollout":{"flag":"x"}}"#),
        Case(code: "dangling-reference", path: "/root_controller", patch: #"{"root_controller":"Nobody"}"#),
        Case(
            code: "dangling-reference", path: "/controllers/EventDetailController/render",
            patch: #"{"controllers":{"EventDetailController":{"render":"No"}}}"#),
        Case(
            code: "dangling-reference", path: "/controllers/EventListController/views/0",
            patch: #"{"controllers":{"EventListController":{"views":["No"]}}}"#),
        Case(
            code: "dangling-reference", path: "/views/EventRow/contents/0/row_view",
            patch: row(#""kind":"ListView","items_model":"Events","row_view":"No""#)),
        Case(
            code: "dangling-reference", path: "/views/EventRow/contents/0/items_model",
            patch: row(#""kind":"ListView","items_model":"No","row_view":"EventDetailView""#)),
        Case(
            code: "dangling-reference", path: "/views/EventRow/contents/0/actions/0/controller",
            patch: row(#""actions":[{"action":"openController","controller":"No"}]"#)),
        Case(
            code: "dangling-reference", path: "/views/EventRow/contents/0",
            patch: #"{"views":{"EventRow":{"contents":["No"]}}}"#),
        Case(
            code: "dangling-reference", path: "/views/EventDetailView/contents/place/before",
            patch: #"{"views":{"EventDetailView":{"contents":{"place":{"before":"No"}}}}}"#),
        Case(code: "cycle", path: "/views/EventListView", patch: row(#""kind":"View","contents":["EventListView"]"#)),
        Case(code: "unknown-kind", path: "/views/EventRow/contents/0/kind", patch: row(#""kind":"ChartView""#)),
        Case(
            code: "unknown-kind", path: "/controllers/EventListController/kind",
            patch: #"{"controllers":{"EventListController":{"kind":"TabController"}}}"#),
        Case(
            code: "missing-member", path: "/views/EventRow/contents/0/requires", patch: row(#""requires":{"View":2}"#)),
        Case(
            code: "missing-member", path: "/views/EventRow/contents/0",
            patch: row(#""kind":"ListView","row_view":"EventDetailView""#)),
        Case(code: "missing-member", path: "/views/EventRow/contents/0", patch: row(#""kind":"TextField""#)),
        Case(
            code: "missing-member", path: "/views/EventRow/contents/0", patch: row(#""kind":"Picker","field":"sport""#)),
        Case(
            code: "dangling-reference", path: "/views/EventRow/contents/0/submit_model",
            patch: row(#""kind":"Form","submit_model":"No""#)),
        Case(
            code: "unknown-operation", path: "/views/EventRow/contents/0/validation/logic/shout",
            patch: row(#""kind":"TextField","field":"name","validation":{"logic":{"shout":1}}"#)),
        Case(
            code: "bad-binding", path: "/views/EventRow/contents/0/options/1/title",
            patch: row(#""kind":"Picker","field":"sport","options":["chess",{"value":"go","title":"@go"}]"#)),
        Case(
            code: "bad-value", path: "/views/EventRow/contents/0/latitude",
            patch: row(#""kind":"MapView","latitude":"52""#)),
        Case(
            code: "missing-member", path: "/controllers/EventDetailController",
            patch: #"{"controllers":{"EventDetailController":{"render":null}}}"#),
        Case(code: "name-mismatch", path: "/views/EventRow/name", patch: #"{"views":{"EventRow":{"name":"Row"}}}"#),
        Case(code: "bad-layout", path: "/views/EventRow/contents/0/top", patch: row(#""top":"6""#)),
        Case(code: "bad-layout", path: "/views/EventRow/contents/0/top", patch: row(#""top":1e300"#)),
        Case(code: "bad-layout", path: "/views/EventRow/contents/0/width", patch: row(#""width":-1"#)),
        Case(code: "bad-layout", path: "/views/EventRow/contents/0/text_size", patch: row(#""text_size":0"#)),
        Case(code: "bad-layout", path: "/views/EventRow/contents/0/text_lines", patch: row(#""text_lines":1.5"#)),
        Case(
            code: "bad-layout", path: "/views/EventRow/orientation",
            patch: #"{"views":{"EventRow":{"orientation":"diagonal"}}}"#),
        Case(code: "bad-color", path: "/views/EventRow/contents/0/text_color", patch: row(##""text_color":"#fff""##)),
        Case(
            code: "bad-url", path: "/views/EventRow/contents/0/url",
            patch: row(#""kind":"ImageView","url":"javascript:alert(1)""#)),
        Case(code: "bad-url", path: "/models/Events", patch: #"{"models":{"Events":"file:///etc/passwd"}}"#),
        Case(code: "bad-binding", path: "/views/EventRow/contents/0/text", patch: row(#""text":"@title""#)),
        Case(
            code: "unknown-operation", path: "/views/EventRow/contents/0/text/logic/if/1/shout",
            patch: row(#""text":{"logic":{"if":[true,{"shout":["x"]}]}}"#)),
        Case(
            code: "missing-translation", path: "/views/EventRow/contents/0/text/translation",
            patch: row(#""text":{"translation":"event.title"}"#)),
    ]

    /// The row of the events app with a view that has these members.
    static func row(_ members: String) -> String { #"{"views":{"EventRow":{"contents":[{\#(members)}]}}}"# }

    @Test("What would fail on a device is an error that names its path", arguments: refusals)
    func errors(_ test: Case) throws {
        let findings = findings(try DefinitionFixture.kickIn(test.patch))
        let found = findings.filter { $0.severity == .error }.map { "\($0.code) \($0.path)" }
        #expect(found.contains("\(test.code) \(test.path)"), "\(findings)")
    }

    @Test(
        "What only looks odd is a warning",
        arguments: [
            Case(
                code: "unknown-property", path: "/views/EventRow/contents/0/txt",
                patch: row(#""kind":"LabelView","txt":"x""#)),
            Case(
                code: "unknown-action", path: "/views/EventRow/contents/0/actions/0/action",
                patch: row(#""actions":[{"action":"fly"}]"#)),
            Case(code: "unused-view", path: "/views/Spare", patch: #"{"views":{"Spare":{}}}"#),
            Case(
                code: "unused-controller", path: "/controllers/Spare",
                patch: #"{"controllers":{"Spare":{"render":"EventRow"}}}"#),
            Case(code: "unknown-member", path: "/theme", patch: #"{"theme":"dark"}"#),
        ])
    func warnings(_ test: Case) throws {
        let findings = findings(try DefinitionFixture.kickIn(test.patch))
        #expect(findings.map { "\($0.severity) \($0.code) \($0.path)" } == ["warning \(test.code) \(test.path)"])
    }

    @Test(
        "Kinds, operations and actions that a definition requires are accepted, as are unknown kinds with a fallback",
        arguments: [
            (#"{"requires":{"MapView":2},"views":{"EventRow":{"contents":[{"kind":"MapView","anything":[1,{"a":null}]}]}}}"#),
            (#"{"requires":{"shout":1},"views":{"EventRow":{"contents":[{"text":{"logic":{"shout":"x"}}}]}}}"#),
            (#"{"requires":{"fly":1},"views":{"EventRow":{"actions":[{"action":"fly"}]}}}"#),
            (#"{"views":{"EventRow":{"contents":[{"kind":"ChartView","fallback":"drop"}]}}}"#),
            (#"{"views":{"EventRow":{"contents":[{"kind":"ChartView","fallback":{"kind":"LabelView","text":"@.place"}}]}}}"#),
        ])
    func extensions(_ patch: String) throws {
        #expect(findings(try DefinitionFixture.kickIn(patch)) == [])
    }

    @Test("The limits of nested views apply to the expanded tree")
    func tree() throws {
        // Each of 14 views contains the next one twice: 16,383 views from 14 short texts.
        let doubling = (0..<14).map {
            #""V\#($0)":{"contents":\#($0 == 13 ? "[]" : #"["V\#($0 + 1)","V\#($0 + 1)"]"#)}"#
        }
        #expect(errorCodes(#"{"views":{\#(doubling.joined(separator: ","))}}"#) == ["too-many-views"])
        let chain = (0..<40).map { #""V\#($0)":{"contents":\#($0 == 39 ? "[]" : #"["V\#($0 + 1)"]"#)}"# }
        #expect(errorCodes(#"{"views":{\#(chain.joined(separator: ","))}}"#) == ["too-deep"])
        let fits = (0..<32).map { #""V\#($0)":{"contents":\#($0 == 31 ? "[]" : #"["V\#($0 + 1)"]"#)}"# }
        #expect(errorCodes(#"{"views":{\#(fits.joined(separator: ","))}}"#) == [])
    }

    @Test("Too many parts, and a part that stays large after compression, are refused")
    func sizes() throws {
        let many = (0..<500).map { #""M\#($0)":[]"# }.joined(separator: ",")
        #expect(errorCodes(#"{"models":{\#(many)}}"#) == ["too-many-parts"])
        var generator = SystemRandomNumberGenerator()
        let noise = (0..<16_000).map { _ in #""\#(String(generator.next(), radix: 36))""# }.joined(separator: ",")
        #expect(errorCodes(#"{"models":{"Noise":[\#(noise)]}}"#) == ["part-too-large"])
        let calm = (0..<20_000).map { #""\#($0 % 7)""# }.joined(separator: ",")
        #expect(errorCodes(#"{"models":{"Calm":[\#(calm)]}}"#) == [])
    }

    private func errorCodes(_ patch: String) -> Set<String> {
        let document = (try? DefinitionFixture.kickIn(patch)) ?? .null
        return Set(findings(document).filter { $0.severity == .error }.map(\.code))
    }

    @Test("Translations are required in every app version that gets the definition")
    func translations() throws {
        func live(_ name: String, _ json: String) -> LiveDocument {
            LiveDocument(
                key: DocumentKey(.translation, name), version: 1, sha256: "", published: Date(),
                content: Array(json.utf8), compiled: 0)
        }
        let space = LiveSpace(
            Self.space,
            live: [
                live("0.9", #"{"sourceLanguage":"en","strings":{}}"#),
                live(
                    "1.0",
                    #"{"sourceLanguage":"en","languages":{"en":{"published":true},"nl":{"published":true},"de":{"published":false},"nl-BE":{"published":true,"fallback":"nl"}},"strings":{"there":{"localizations":{"nl":{}}},"english":{"comment":""}}}"#
                ),
            ])
        func found(_ key: String) throws -> [String] {
            findings(try DefinitionFixture.kickIn(Self.row(#""text":{"translation":"\#(key)"}"#)), in: space).map {
                "\($0.severity) \($0.code)"
            }
        }
        // 0.9 is below the definition's minClient.
        #expect(try found("there") == [])
        #expect(try found("english") == ["warning untranslated"])
        #expect(try found("nowhere") == ["error missing-translation"])
        // Apps of the `minClient` version get this older one, because there is none for their version.
        let older = LiveSpace(
            Self.space,
            live: [
                live("0.8", #"{"sourceLanguage":"en","strings":{"there":{}}}"#),
                live("0.9", #"{"sourceLanguage":"en","strings":{}}"#),
            ])
        let missing = findings(try DefinitionFixture.kickIn(Self.row(#""text":{"translation":"there"}"#)), in: older)
        #expect(missing.map { "\($0.severity) \($0.code)" } == ["error missing-translation"])
    }
}
