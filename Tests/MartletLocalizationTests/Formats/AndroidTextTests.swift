import MartletCore
import MartletLocalization
import Testing

@Suite("Android's strings.xml")
struct AndroidTextTests {
    private func read(_ body: String) throws -> Catalogue {
        let xml = "<resources xmlns:xliff=\"urn:oasis:names:tc:xliff:document:1.2\">\(body)</resources>"
        return try CatalogueFormat.android.read(Array(xml.utf8), try RoundTripTests.options())
    }

    @Test(
        "escapes, quotes and blanks are read, and survive a round trip",
        arguments: [
            (#"It\'s \"you\""#, #"It's "you""#), ("a\n   b", "a b"), (#""  kept  ""#, "  kept  "),
            (#"line\nbreak\tt"#, "line\nbreak\tt"), (#"\@user \?"#, "@user ?"),
            (#"\u00e9\u0020"#, "é "), (#"\ud83d\ude00"#, "😀"), ("&lt;b&gt; &amp;", "<b> &"),
            ("<![CDATA[<b>x</b>]]>", "<b>x</b>"),
            (#"<xliff:g id="n" example="3">%1$d</xliff:g> of %2$s"#, "%1$lld of %2$@"),
            (#"back\\slash"#, #"back\slash"#),
        ])
    func texts(raw: String, text: String) throws {
        let catalogue = try read("<string name=\"a\">\(raw)</string>")
        let german = try #require(LanguageTag("de"))
        #expect(catalogue["a"]?.localizations[german] == Localization(.unit(Unit(text))))
        let again = try CatalogueFormat.android.read(
            try CatalogueFormat.android.write(catalogue, try RoundTripTests.options()).bytes,
            try RoundTripTests.options())
        #expect(again == catalogue)
    }

    @Test("arrays, inline markup, comments and flags survive a round trip")
    func elements() throws {
        let body = """
            <!-- Days -->
            <string-array name="days"><item>Mon</item><item>Tue</item></string-array>
            <string name="bold">a <b>bold</b> &amp; word</string>
            <string name="brand" translatable="false">Martlet</string>
            """
        let catalogue = try read(body)
        #expect(catalogue.entries.map(\.key) == ["days[0]", "days[1]", "bold", "brand"])
        #expect(catalogue["bold"]?.isMarkup == true)
        #expect(catalogue["brand"]?.shouldTranslate == false)
        #expect(catalogue["days[0]"]?.comment == "Days")
        let xml = String(
            decoding: try CatalogueFormat.android.write(catalogue, try RoundTripTests.options()).bytes, as: UTF8.self)
        #expect(xml.contains("<string name=\"bold\">a <b>bold</b> &amp; word</string>"))
        #expect(
            xml.contains(
                "<string-array name=\"days\">\n        <item>Mon</item>\n        <item>Tue</item>\n    </string-array>")
        )
        #expect(try CatalogueFormat.android.read(Array(xml.utf8), try RoundTripTests.options()) == catalogue)
    }

    @Test("keys that are not resource names get unique ones, and are read back")
    func names() throws {
        var catalogue = Catalogue(sourceLanguage: try #require(LanguageTag("en")))
        let german = try #require(LanguageTag("de"))
        for key in ["Hello, %@", "Hello? %@", "Hello__ _", "ok", "1st"] {
            var entry = Entry(key)
            entry.localizations[german] = Localization(.unit(Unit(key)))
            catalogue[key] = entry
        }
        let bytes = try CatalogueFormat.android.write(catalogue, try RoundTripTests.options()).bytes
        #expect(
            String(decoding: bytes, as: UTF8.self).contains("<string name=\"Hello_____2\" martlet:key=\"Hello? %@\">"))
        #expect(try CatalogueFormat.android.read(bytes, try RoundTripTests.options()) == catalogue)
    }
}
