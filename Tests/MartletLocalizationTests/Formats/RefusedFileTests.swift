import MartletCore
import MartletLocalization
import Testing

@Suite("Translation files that are refused")
struct RefusedFileTests {
    @Test(
        "report place and reason",
        arguments: [
            (CatalogueFormat.strings, "\"a\" = \"b\"", "line 1: A ; is missing."),
            (.strings, "\"a\" = \"b\";\n\"a\" = \"c\";", "line 2: The key \"a\" occurs twice."),
            (.strings, "\n/* open", "line 2: A comment is not closed."),
            (.strings, "\"a\" = \"\\Ud83d\";", "line 1: A surrogate pair is incomplete."),
            (.strings, "\"a\n", "line 2: A string is not closed."),
            (.json, "{\"a\": {\"b\": \"c\"}}", "/a: Expected a string, found an object; forms have their own keys."),
            (.json, "[]", "Expected an object of keys and texts, found an array."),
            (.json, "{\"a\": ", "The file cannot be read: Not valid JSON at byte 6."),
            (.json, "{\"a|==|plural.several\": \"c\"}", "/a|==|plural.several: The path after |==| is not valid."),
            (.json, "{\"a\": \"x\", \"a|==|plural.one\": \"c\"}", "/a: The text has no forms by plural."),
            (.csv, "", "The file is empty."),
            (.csv, "the id,en\r\n1,2\r\n", "line 1: \"the id\" is not a language tag such as de or pt-BR."),
            (.csv, "key,en\r\na,b,c\r\n", "line 2: There are more cells than columns."),
            (.csv, "key,en,en:state\r\na,b,done\r\n", "line 2: The state must be new, translated or needs_review."),
            (.xliff, "<xliff version=\"2.0\"/>", "line 1: This is not an XLIFF 1.2 file."),
            (
                .xliff,
                "<xliff version=\"1.2\"><file source-language=\"en\" target-language=\"de\"><body><trans-unit id=\"a\">\n<source><x id=\"1\"/></source></trans-unit></body></file></xliff>",
                "line 2: The inline element <x> is not supported."
            ),
            (
                .android, "<resources><color name=\"a\">#fff</color></resources>",
                "line 1: <color> is not supported: expected string, plurals or string-array."
            ),
            (
                .android, "<resources><plurals name=\"a\"><item quantity=\"lots\">x</item></plurals></resources>",
                "line 1: An item of plurals needs a quantity: zero, one, two, few, many or other."
            ),
            (.stringsdict, "<plist><dict><key>a</key></dict></plist>", "line 1: A dict has a key without a value."),
            (
                .xcstrings,
                "{\"sourceLanguage\": \"en\", \"strings\": {\"a\": {\"localizations\": {\"de\": {\"stringUnit\": {\"state\": \"done\", \"value\": \"x\"}}}}}}",
                "/strings/a/localizations/de/stringUnit/state: Expected one of new, translated, needs_review, found \"done\"."
            ),
            (
                .xcstrings, "{\"sourceLanguage\": \"en\", \"strings\": {\"a/b\": {\"localisations\": {}}}}",
                "/strings/a~1b/localisations: This member is unknown here."
            ),
            (
                .xcstrings, "{\"sourceLanguage\": \"english language\", \"strings\": {}}",
                "/sourceLanguage: \"english language\" is not a language tag such as de or pt-BR."
            ),
        ])
    func refused(format: CatalogueFormat, text: String, message: String) throws {
        let fault = #expect(throws: LocalizationFault.self) {
            try format.read(Array(text.utf8), try RoundTripTests.options())
        }
        #expect(fault?.description == message)
    }

    @Test(
        "XML that is malformed, too deep or declares entities is refused",
        arguments: [
            (
                "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><resources><string name=\"a\">&x;</string></resources>",
                "A document type with declarations is not allowed."
            ),
            (
                "<!DOCTYPE lolz [<!ENTITY lol \"lol\"><!ENTITY lol2 \"&lol;&lol;\">]><resources/>",
                "A document type with declarations is not allowed."
            ),
            ("<resources><string name=\"a\">&xxe;</string></resources>", "The entity &xxe; is unknown."),
            ("<resources><string name=\"a\">&#0;</string></resources>", "The entity &#0; is unknown."),
            (
                "<resources><string name=\"a\" name=\"b\"/></resources>",
                "An attribute occurs twice, or there are too many."
            ), ("<resources><a></b></resources>", "<a> is closed by another tag."),
            ("<resources>", "<resources> is not closed."),
            ("<resources/><more/>", "There is content after the end of the document."),
            ("{}", "This is not XML: there is no element."),
            (
                "<resources><string name=\"a\">\u{1}</string></resources>",
                "There is a character that XML does not allow."
            ), (String(repeating: "<a>", count: 100), "Elements may be nested at most 64 deep."),
        ])
    func xml(text: String, reason: String) throws {
        let fault = #expect(throws: LocalizationFault.self) {
            try CatalogueFormat.android.read(Array(text.utf8), try RoundTripTests.options())
        }
        #expect(fault?.reason == reason)
    }

    @Test("files beyond a limit or in an unknown encoding are refused")
    func limits() throws {
        let options = try RoundTripTests.options()
        let keys = "{" + (0...LocalizationLimits.keys).map { "\"k\($0)\":\"v\"" }.joined(separator: ",") + "}"
        #expect(throws: LocalizationFault("/strings", "There may be at most 20000 keys.")) {
            try CatalogueFormat.json.read(Array(keys.utf8), options)
        }
        let long = "{\"k\": \"" + String(repeating: "x", count: LocalizationLimits.valueSizeInBytes + 1) + "\"}"
        #expect(throws: LocalizationFault.self) { try CatalogueFormat.json.read(Array(long.utf8), options) }
        #expect(throws: LocalizationFault("", "The file may have at most 16777216 bytes.")) {
            try CatalogueFormat.csv.read(
                [UInt8](repeating: 0x61, count: LocalizationLimits.fileSizeInBytes + 1), options)
        }
        // Reading stops at the limit, not at the end of the file.
        let lines = "key,en\n" + (0...LocalizationLimits.keys).map { "k\($0),v\n" }.joined() + "no,more,please\n"
        #expect(throws: LocalizationFault("line 20002", "There may be at most 20000 keys.")) {
            try CatalogueFormat.csv.read(Array(lines.utf8), options)
        }
        let texts =
            "key," + (0..<30).map { "de-x-a\($0)" }.joined(separator: ",") + "\n"
            + (0..<15_000).map { "k\($0)" + String(repeating: ",v", count: 30) + "\n" }.joined()
        #expect(
            throws: LocalizationFault("line 13983", "There are more texts than a document of 8388608 bytes can hold.")
        ) {
            try CatalogueFormat.csv.read(Array(texts.utf8), options)
        }
        #expect(throws: LocalizationFault("", "The file is neither UTF-8 nor UTF-16.")) {
            try CatalogueFormat.strings.read([0x22, 0xfc, 0x22], options)
        }
    }
}
