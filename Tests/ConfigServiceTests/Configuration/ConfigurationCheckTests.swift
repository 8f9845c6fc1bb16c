import Foundation
import MartletAPI
import MartletCore
import Testing

@testable import ConfigService

/// The findings in configurations, as `severity code path`.
@Suite struct ConfigurationCheckTests {
    /// Figure 4.6 and listing 5.20 of the thesis on TBAnalytics: an unset property is an empty text, and an object's
    /// kind is among its properties.
    static let thesis = """
        {"version":"2.4.2.2","languagesList":["en","fr"],"mainSettings":{"url":"www.dit.ie","doAnalytics":"1"},
        "colors":[{"name":"white","red":255,"green":255,"blue":255,"alpha":1},{"name":"blackColor","red":0,"green":0,"blue":0,"alpha":1.0}],
        "controllers":[{"name":"ViewController","parent":"0","classProperties":{"backgroundColor":"blackColor"},"objectsList":[
        {"objectName":"tfName","objectDesc":"","objectProperties":{"type":"UITextField","backgroundColor":"white","fontSize":"","isEnabled":"","text":"",
        "textAlignment":"","isUserInteractionEnabled":"","isHidden":"","placeholder":"","textColor":"blackColor","font":""}}]}]}
        """

    @Test func `A configuration from the original TBAnalytics dashboard is accepted`() throws {
        #expect(try found(in: Self.thesis) == [])
    }

    @Test func `An empty document is accepted, because an app may have nothing to configure`() throws {
        #expect(try found(in: "{}") == [])
    }

    @Test(arguments: [
        (#"{"colours":[]}"#, ["error unknown-member /colours"]),
        (#"{"version":7}"#, ["error wrong-type /version"]),
        (#"{"version":"a b"}"#, ["error wrong-type /version"]),
        (#"{"theme":"Light"}"#, ["error theme-mismatch /theme"]),
        (#"{"theme":"Dark","live":true}"#, []),
        (#"{"live":false}"#, ["error held-back /live"]),
        (#"{"live":"yes"}"#, ["error wrong-type /live"]),
        (#"{"languagesList":"en"}"#, ["error wrong-type /languagesList"]),
        (
            #"{"languagesList":["en","English (UK)","en"]}"#,
            ["error unknown-language /languagesList/1", "error duplicate-name /languagesList/2"]
        ),
        (#"{"languagesList":["PT-br"]}"#, ["warning odd-spelling /languagesList/0"]),
        (#"{"mainSettings":[]}"#, ["error wrong-type /mainSettings"]),
        (#"{"mainSettings":{"":1}}"#, ["error out-of-range /mainSettings/"]),
        (#"{"mainSettings":{"a/b":"x\ty","deep":{"a":[1.0]}}}"#, []),
        (
            #"{"colors":[{"name":"a","red":0,"green":0}]}"#,
            ["error required /colors/0/blue", "warning unused-color /colors/0"]
        ),
        (
            #"{"colors":[{"name":"a","red":256,"green":-1,"blue":"3","alpha":2}]}"#,
            [
                "error out-of-range /colors/0/red", "error out-of-range /colors/0/green",
                "error wrong-type /colors/0/blue",
                "error out-of-range /colors/0/alpha", "warning unused-color /colors/0",
            ]
        ),
        (#"{"colors":[{"red":1,"green":1,"blue":1}]}"#, ["error required /colors/0/name"]),
        (#"{"colors":["red"]}"#, ["error wrong-type /colors/0"]),
    ])
    func `Heads, settings, languages and colours are checked`(document: String, expected: [String]) throws {
        #expect(try found(in: document) == expected)
    }

    @Test(arguments: [
        (#"{"objectName":"o","objectType":"UILabl"}"#, ["error unknown-kind /objectType"]),
        (#"{"objectName":"o"}"#, ["error required /objectType"]),
        (
            #"{"objectName":"o","objectType":"UILabel","objectProperties":{"type":"UIButton"}}"#,
            ["error wrong-type /objectProperties/type"]
        ),
        (#"{"objectType":"UILabel"}"#, ["error required /objectName"]),
        (
            #"{"objectName":"o","objectType":"UILabel","objectProperties":{"txt":"a"}}"#,
            ["error unknown-property /objectProperties/txt"]
        ),
        (
            #"{"objectName":"o","objectType":"UILabel","objectProperties":{"text":7}}"#,
            ["error wrong-type /objectProperties/text"]
        ),
        (
            #"{"objectName":"o","objectType":"UILabel","objectProperties":{"fontSize":0.5}}"#,
            ["error out-of-range /objectProperties/fontSize"]
        ),
        (
            #"{"objectName":"o","objectType":"UILabel","objectProperties":{"fontSize":"14"}}"#,
            ["warning odd-spelling /objectProperties/fontSize"]
        ),
        (
            #"{"objectName":"o","objectType":"UILabel","objectProperties":{"fontSize":"big"}}"#,
            ["error wrong-type /objectProperties/fontSize"]
        ),
        (
            #"{"objectName":"o","objectType":"UILabel","objectProperties":{"fontSize":"nan"}}"#,
            ["error wrong-type /objectProperties/fontSize"]
        ),
        (
            #"{"objectName":"o","objectType":"UILabel","objectProperties":{"numberOfLines":1.5}}"#,
            ["error wrong-type /objectProperties/numberOfLines"]
        ),
        (
            #"{"objectName":"o","objectType":"UILabel","objectProperties":{"isHidden":"0"}}"#,
            ["warning odd-spelling /objectProperties/isHidden"]
        ),
        (
            #"{"objectName":"o","objectType":"UILabel","objectProperties":{"isHidden":"perhaps"}}"#,
            ["error wrong-type /objectProperties/isHidden"]
        ),
        (
            #"{"objectName":"o","objectType":"UILabel","objectProperties":{"textAlignment":1}}"#,
            ["warning odd-spelling /objectProperties/textAlignment"]
        ),
        (
            #"{"objectName":"o","objectType":"UILabel","objectProperties":{"textAlignment":9}}"#,
            ["error out-of-range /objectProperties/textAlignment"]
        ),
        (
            #"{"objectName":"o","objectType":"UILabel","objectProperties":{"textAlignment":"middle"}}"#,
            ["error unknown-choice /objectProperties/textAlignment"]
        ),
        (
            #"{"objectName":"o","objectType":"UILabel","objectProperties":{"textColor":"navColour"}}"#,
            ["error unknown-color /objectProperties/textColor"]
        ),
        (
            #"{"objectName":"o","objectType":"Link","objectProperties":{"destination":"not an address"}}"#,
            ["error wrong-type /objectProperties/destination"]
        ),
        (
            #"{"objectName":"o","objectType":"UIDatePicker","objectProperties":{"minimumDate":"2026-02-30"}}"#,
            ["error wrong-type /objectProperties/minimumDate"]
        ),
        (
            #"{"objectName":"o","objectType":"UIDatePicker","objectProperties":{"minimumDate":"2026-02-28T10:00:00.5Z"}}"#,
            []
        ),
        (
            #"{"objectName":"o","objectType":"Picker","objectProperties":{"items":["a",1]}}"#,
            ["error wrong-type /objectProperties/items"]
        ),
        (#"{"objectName":"o","objectType":"SecureField","objectProperties":{"prompt":"p","opacity":0.5}}"#, []),
        (#"{"objectName":"o","objectType":"Object","objectProperties":{"whatever":[1,2]}}"#, []),
    ])
    func `Objects are checked against the catalogue`(object: String, expected: [String]) throws {
        let document = #"{"controllers":[{"name":"c","objectsList":[\#(object)]}]}"#
        let prefix = "/controllers/0/objectsList/0"
        #expect(try found(in: document).map { $0.replacing(prefix, with: "") } == expected)
    }

    @Test(arguments: [
        (#"[{"name":"a","parent":"b"},{"name":"b"}]"#, []),
        (#"[{"name":"a","parent":"bb"},{"name":"b","parent":0}]"#, ["error unknown-parent /controllers/0/parent"]),
        (#"[{"name":"a","parent":"a"}]"#, ["error cycle /controllers/0/parent"]),
        (
            #"[{"name":"a","parent":"b"},{"name":"b","parent":"a"}]"#,
            ["error cycle /controllers/0/parent", "error cycle /controllers/1/parent"]
        ),
        (#"[{"name":"a"},{"name":"a"}]"#, ["error duplicate-name /controllers/1/name"]),
        (#"[{"name":"a","classType":"NavigationStack","classProperties":{"navigationBarHidden":true}}]"#, []),
        (
            #"[{"name":"a","classProperties":{"navigationBarHidden":true}}]"#,
            ["error unknown-property /controllers/0/classProperties/navigationBarHidden"]
        ),
        (
            #"[{"name":"a","objectsList":[{"objectName":"o","objectType":"UIView"},{"objectName":"o","objectType":"UIView"}]}]"#,
            ["error duplicate-name /controllers/0/objectsList/1/objectName"]
        ),
    ])
    func `Controllers have unique names and existing parents`(controllers: String, expected: [String]) throws {
        #expect(try found(in: #"{"controllers":\#(controllers)}"#) == expected)
    }

    @Test func `An unknown name gets the nearest known one suggested`() throws {
        let document =
            #"{"controllers":[{"name":"c","objectsList":[{"objectName":"o","objectType":"UILabel","objectProperties":{"textcolour":"x"}}]}]}"#
        let finding = try #require(try findings(in: document).first)
        #expect(finding.message == "UILabel has no property textcolour. Did you mean textColor?")
    }

    @Test(arguments: [
        (
            #"{"RatingView":{"parent":"UIControl","properties":{"stars":{"type":"integer","minimum":0,"maximum":5}}}}"#,
            []
        ),
        (
            #"{"RatingView":{"parent":"UIControl","properties":{"stars":{"type":"integer","maximum":2}}}}"#,
            ["error out-of-range /stars"]
        ),
        (#"{"RatingView":{"isOpen":true}}"#, []),
        (
            #"{"RatingView":{"parent":"UIView","properties":{"stars":["none","some"]}}}"#,
            ["error out-of-range /stars", "error unknown-property /isEnabled"]
        ),
        (
            #"{"RatingView":{"parent":"UIKontrol"}}"#,
            ["error malformed-kind /catalogue/RatingView/parent", "error unknown-kind /objectType"]
        ),
        (
            #"{"RatingView":{"properties":{"stars":"stars"}}}"#,
            ["error malformed-kind /catalogue/RatingView/properties/stars", "error unknown-kind /objectType"]
        ),
        (
            #"{"RatingView":{"parent":"RatingView"}}"#,
            ["error malformed-kind /catalogue/RatingView/parent", "error unknown-kind /objectType"]
        ),
        (
            #"{"RatingView":{"isOpen":true},"UILabel":{"properties":{"text":"number"}}}"#,
            ["error malformed-kind /catalogue/UILabel/properties/text", "error unknown-kind /objectType"]
        ),
        (
            #"{"RatingView":{"isOpen":true},"UILabel":{"properties":{"isHidden":"number"}}}"#,
            ["error malformed-kind /catalogue/UILabel/properties/isHidden", "error unknown-kind /objectType"]
        ),
    ])
    func `A document may add kinds to the catalogue, and properties to kinds`(kinds: String, expected: [String]) throws
    {
        let object = #"{"objectName":"o","objectType":"RatingView","objectProperties":{"stars":3,"isEnabled":true}}"#
        let document = #"{"catalogue":\#(kinds),"controllers":[{"name":"c","objectsList":[\#(object)]}]}"#
        let prefix = "/controllers/0/objectsList/0"
        #expect(
            try found(in: document).map {
                $0.replacing(prefix + "/objectProperties", with: "").replacing(prefix, with: "")
            } == expected)
    }

    @Test(arguments: [
        (#"{"when":{"userId":"u1"},"patch":{"mainSettings":{"url":null}}}"#, []),
        (#"{"patch":{}}"#, ["error required /when"]),
        (#"{"when":{}}"#, ["error required /patch"]),
        (#"{"when":{"plan":{"$eqq":"x"}},"patch":{}}"#, ["error unknown-operator /when/plan/$eqq"]),
        (
            #"{"when":{},"patch":{"colors":{"blackColour":{"red":1}}}}"#,
            ["error unknown-color /patch/colors/blackColour"]
        ),
        (
            #"{"when":{},"patch":{"colors":{"blackColor":{"red":1000,"name":"x"}}}}"#,
            ["error unknown-member /patch/colors/blackColor/name", "error out-of-range /patch/colors/blackColor/red"]
        ),
        (
            #"{"when":{},"patch":{"controllers":{"NoController":{}}}}"#,
            ["error unknown-controller /patch/controllers/NoController"]
        ),
        (
            #"{"when":{},"patch":{"controllers":{"ViewController":{"objects":{"tfNam":{}}}}}}"#,
            ["error unknown-object /patch/controllers/ViewController/objects/tfNam"]
        ),
        (
            #"{"when":{},"patch":{"controllers":{"ViewController":{"objects":{"tfName":{"isHidden":true,"font":null}}}}}}"#,
            []
        ),
        (
            #"{"when":{},"patch":{"controllers":{"ViewController":{"objects":{"tfName":{"isHidden":"x"}}}}}}"#,
            ["error wrong-type /patch/controllers/ViewController/objects/tfName/isHidden"]
        ),
        (
            #"{"when":{},"patch":{"controllers":{"ViewController":{"objects":{"tfName":{"type":"UILabel"}}}}}}"#,
            ["error unknown-member /patch/controllers/ViewController/objects/tfName/type"]
        ),
        (#"{"when":{},"patch":{"overrides":[]}}"#, ["error unknown-member /patch/overrides"]),
    ])
    func `Overrides are checked against the document they change`(override: String, expected: [String]) throws {
        let document = Self.thesis.dropLast() + #","overrides":[\#(override)]}"#
        #expect(try found(in: String(document)).map { $0.replacing("/overrides/0", with: "") } == expected)
    }

    @Test func `Documents have limits`() throws {
        let settings = (0...ConfigurationCheck.Limits.settings).map { "\"k\($0)\":1" }.joined(separator: ",")
        #expect(try found(in: "{\"mainSettings\":{\(settings)}}") == ["error too-many /mainSettings"])
        let colors = (0...ConfigurationCheck.Limits.colors).map { #"{"name":"c\#($0)","red":0,"green":0,"blue":0}"# }
            .joined(separator: ",")
        #expect(try found(in: "{\"colors\":[\(colors)]}").first == "error too-many /colors")
        let objects = (0..<400).map { #"{"objectName":"o\#($0)","objectType":"UIView"}"# }.joined(separator: ",")
        let controllers = (0..<13).map { #"{"name":"c\#($0)","objectsList":[\#(objects)]}"# }.joined(separator: ",")
        #expect(try found(in: "{\"controllers\":[\(controllers)]}") == ["error too-many /controllers"])
    }

    @Test func `The first error is not hidden by warnings`() throws {
        let objects = (0..<500).map {
            #"{"objectName":"o\#($0)","objectType":"UIView","objectProperties":{"isHidden":"0","alpha":"1","analytics":"1"}}"#
        }
        let list = objects.joined(separator: ",")
        let document =
            #"{"controllers":[{"name":"c","objectsList":[\#(list)]},{"name":"d","classProperties":{"nope":1}}]}"#
        let all = try findings(in: document)
        #expect(all.count == Findings.maximum + 1)
        #expect(all.last.map { "\($0.severity) \($0.path)" } == "error /controllers/1/classProperties/nope")
    }

    private func findings(in document: String) throws -> [Finding] {
        let name = try #require(ConfigurationName("2.4.2~Dark"))
        return ConfigurationCheck.findings(in: try JSONValue(parsing: document.utf8), named: name, catalogue: .builtIn)
    }

    private func found(in document: String) throws -> [String] {
        try findings(in: document).map { "\($0.severity.rawValue) \($0.code) \($0.path)" }
    }
}
