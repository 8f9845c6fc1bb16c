import MartletCore
import Testing

@testable import ConfigService

@Suite struct ConfigurationPatchTests {
    private static let document = """
        {"languagesList":["en"],"mainSettings":{"a":1.0,"b":{"x":1,"y":2}},"colors":[{"name":"c","red":1,"green":2,"blue":3}],"controllers":[
        {"name":"V","classProperties":{"title":"t"},"objectsList":[{"objectName":"o","objectType":"UILabel","objectProperties":{"text":"x"}}]},{"name":"W"}]}
        """

    @Test(arguments: [
        (#"{}"#, "", ""),
        (#"{"languagesList":["de"]}"#, #"["en"]"#, #"["de"]"#),
        (#"{"mainSettings":{"b":{"x":null},"n":1.50}}"#, #""b":{"x":1,"y":2}"#, #""b":{"y":2},"n":1.50"#),
        (
            #"{"colors":{"c":{"red":1.0,"alpha":0.5}}}"#, #""red":1,"green":2,"blue":3"#,
            #""red":1.0,"green":2,"blue":3,"alpha":0.5"#
        ),
        (#"{"controllers":{"V":{"classProperties":{"title":null}}}}"#, #"{"title":"t"}"#, "{}"),
        (
            #"{"controllers":{"V":{"objects":{"o":{"text":"y","isHidden":true}}}}}"#, #"{"text":"x"}"#,
            #"{"text":"y","isHidden":true}"#
        ),
        (
            #"{"controllers":{"W":{"classProperties":{"title":"w"}}}}"#, #"{"name":"W"}"#,
            #"{"name":"W","classProperties":{"title":"w"}}"#
        ),
    ])
    func `A patch changes only what it names`(patch: String, old: String, new: String) throws {
        let document = try JSONValue(parsing: Self.document.utf8)
        let changed = ConfigurationPatch.apply(try JSONValue(parsing: patch.utf8), to: document)
        #expect(
            changed.text == (old.isEmpty ? document.text : document.text.replacing(old, with: new, maxReplacements: 1)))
    }
}
