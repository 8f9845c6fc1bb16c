import MartletCore
import MartletLocalization
import Testing

@Suite("Translation files survive a round trip")
struct RoundTripTests {
    private static let all = """
        {"sourceLanguage": "en", "strings": {
          "plain": {"comment": "A comment -- with */ hyphens & <tags>", "extractionState": "manual", "localizations": {
            "en": {"stringUnit": {"state": "translated", "value": "Hello \\"you\\",\\n\\t%1$@ it's 5 < 6 & 100%% \\\\ done"}},
            "de": {"stringUnit": {"state": "needs_review", "value": " Grüße, %1$@ \\ud83d\\ude00 "}}}},
          "new one": {"localizations": {"en": {"stringUnit": {"state": "translated", "value": "x"}}, "de": {"stringUnit": {"state": "new", "value": "x"}}}},
          "fixed": {"shouldTranslate": false, "localizations": {"en": {"stringUnit": {"state": "translated", "value": "Martlet"}}}},
          "=formula": {"localizations": {"en": {"stringUnit": {"state": "translated", "value": "=1+1"}}, "de": {"stringUnit": {"state": "translated", "value": ""}}}},
          "dogs": {"localizations": {
            "en": {"variations": {"plural": {"one": {"stringUnit": {"state": "translated", "value": "%lld dog"}}, "other": {"stringUnit": {"state": "translated", "value": "%lld dogs"}}}}},
            "de": {"variations": {"plural": {"zero": {"stringUnit": {"state": "translated", "value": "Kein Hund"}}, "one": {"stringUnit": {"state": "translated", "value": "%lld Hund"}}, "other": {"stringUnit": {"state": "translated", "value": "%lld Hunde"}}}}}}},
          "tap": {"localizations": {
            "en": {"variations": {"device": {"mac": {"stringUnit": {"state": "translated", "value": "Click"}}, "iphone": {"variations": {"plural": {"one": {"stringUnit": {"state": "translated", "value": "Tap %lld"}}, "other": {"stringUnit": {"state": "translated", "value": "Taps %lld"}}}}}, "other": {"stringUnit": {"state": "translated", "value": "Tap"}}}}},
            "de": {"variations": {"device": {"mac": {"stringUnit": {"state": "translated", "value": "Klicken"}}, "other": {"stringUnit": {"state": "translated", "value": "Tippen"}}}}}}},
          "report": {"localizations": {
            "en": {"stringUnit": {"state": "translated", "value": "%#@cats@ and %#@birds@"}, "substitutions": {
              "cats": {"argNum": 1, "formatSpecifier": "lld", "variations": {"plural": {"one": {"stringUnit": {"state": "translated", "value": "%arg cat"}}, "other": {"stringUnit": {"state": "translated", "value": "%arg cats"}}}}},
              "birds": {"argNum": 2, "formatSpecifier": "d", "variations": {"plural": {"one": {"stringUnit": {"state": "translated", "value": "%arg bird"}}, "other": {"stringUnit": {"state": "translated", "value": "%arg birds"}}}}}}},
            "de": {"stringUnit": {"state": "translated", "value": "%#@cats@ und %#@birds@"}, "substitutions": {
              "cats": {"argNum": 1, "formatSpecifier": "lld", "variations": {"plural": {"one": {"stringUnit": {"state": "translated", "value": "%arg Katze"}}, "other": {"stringUnit": {"state": "translated", "value": "%arg Katzen"}}}}},
              "birds": {"argNum": 2, "formatSpecifier": "d", "variations": {"plural": {"one": {"stringUnit": {"state": "translated", "value": "%arg Vogel"}}, "other": {"stringUnit": {"state": "translated", "value": "%arg Vögel"}}}}}}}}}
        }, "version": "1.0"}
        """

    static func catalogue() throws -> Catalogue { try Catalogue(try JSONValue(parsing: all.utf8)) }

    private static let german = LanguageTag("de")
    private static let english = LanguageTag("en")

    static func options(_ language: String = "de") throws -> CatalogueFormat.Options {
        CatalogueFormat.Options(language: LanguageTag(language), sourceLanguage: try #require(english))
    }

    /// The texts of a language that a file can hold, without their states.
    private func part(
        _ format: CatalogueFormat, of catalogue: Catalogue, _ language: LanguageTag,
        keeps: (Entry, Localization) -> Bool
    ) -> [String: Localization] {
        var part: [String: Localization] = [:]
        for entry in catalogue.entries {
            guard let localization = entry.localizations[language], keeps(entry, localization) else { continue }
            var plain = localization
            for (path, unit) in localization.units() {
                plain = (try? plain.setting(Unit(unit.value), at: path)) ?? plain
            }
            if localization.units().contains(where: { $0.unit.state != .new }) { part[entry.key] = plain }
        }
        return part
    }

    @Test("a whole catalogue in .xcstrings and CSV", arguments: [CatalogueFormat.xcstrings, .csv])
    func whole(format: CatalogueFormat) throws {
        let catalogue = try Self.catalogue()
        var options = try Self.options()
        options.language = nil
        let export = try format.write(catalogue, options)
        #expect(export.skipped.isEmpty)
        #expect(try format.read(export.bytes, options) == catalogue)
    }

    @Test("the source and one language in XLIFF, with states, comments and forms")
    func xliff() throws {
        var catalogue = try Self.catalogue()
        let export = try CatalogueFormat.xliff.write(catalogue, try Self.options())
        #expect(export.skipped.isEmpty)
        let back = try CatalogueFormat.xliff.read(export.bytes, try Self.options())
        for var entry in catalogue.entries {
            entry.extractionState = nil
            catalogue[entry.key] = entry
            #expect(back[entry.key] == entry)
        }
        #expect(back.entries.count == catalogue.entries.count)
    }

    @Test(
        "texts with forms in .stringsdict and texts without in .strings, in UTF-8 and UTF-16",
        arguments: [TextEncoding.utf8, .utf16])
    func apple(encoding: TextEncoding) throws {
        let (catalogue, german) = (try Self.catalogue(), try #require(Self.german))
        var options = try Self.options()
        options.encoding = encoding
        let plain = try CatalogueFormat.strings.read(
            try CatalogueFormat.strings.write(catalogue, options).bytes, options)
        #expect(
            part(.strings, of: plain, german) { _, _ in true }
                == part(.strings, of: catalogue, german) { $1.units().count == 1 })
        #expect(plain["plain"]?.comment == catalogue["plain"]?.comment)

        for language in ["de", "en"] {
            let (tag, options) = (try #require(LanguageTag(language)), try Self.options(language))
            let export = try CatalogueFormat.stringsdict.write(catalogue, options)
            #expect(export.skipped.isEmpty)
            let forms = try CatalogueFormat.stringsdict.read(export.bytes, options)
            #expect(
                part(.stringsdict, of: forms, tag) { _, _ in true }
                    == part(.stringsdict, of: catalogue, tag) { $1.units().count > 1 })
        }
    }

    @Test("one language in flat JSON, with forms and arguments")
    func json() throws {
        let (catalogue, german) = (try Self.catalogue(), try #require(Self.german))
        let export = try CatalogueFormat.json.write(catalogue, try Self.options())
        let back = try CatalogueFormat.json.read(export.bytes, try Self.options())
        #expect(part(.json, of: back, german) { _, _ in true } == part(.json, of: catalogue, german) { _, _ in true })
    }

    @Test("one language in strings.xml as far as Android supports it; the rest is reported")
    func android() throws {
        let (catalogue, german) = (try Self.catalogue(), try #require(Self.german))
        let export = try CatalogueFormat.android.write(catalogue, try Self.options())
        #expect(export.skipped.map(\.place) == ["tap", "report"])
        let back = try CatalogueFormat.android.read(export.bytes, try Self.options())
        #expect(
            part(.android, of: back, german) { _, _ in true }
                == part(.android, of: catalogue, german) { entry, _ in !["tap", "report"].contains(entry.key) })
        #expect(try CatalogueFormat.android.write(back, try Self.options()).bytes == export.bytes)
    }

    @Test(
        "files of other tools are unchanged after being read and written", .enabled(if: Vectors.areThere),
        arguments: [
            ("example.xcstrings", CatalogueFormat.xcstrings, 2), ("example_params.xcstrings", .xcstrings, 1),
            ("example_params_escaped.xcstrings", .xcstrings, 1),
            ("Localizable.strings", .strings, 8), ("utf-16.strings", .strings, 1),
            ("example.stringsdict", .stringsdict, 2), ("Localizable_params.stringsdict", .stringsdict, 1),
            ("en_xcstrings.xliff", .xliff, 3), ("cs.xliff", .xliff, 6),
        ])
    func fixtures(name: String, format: CatalogueFormat, keys: Int) throws {
        let options = try Self.options(name == "cs.xliff" ? "cs" : "en")
        let bytes = try Vectors.bytes(name)
        let catalogue = try format.read(bytes, options)
        #expect(catalogue.entries.count == keys, "\(catalogue.entries.map(\.key))")
        let export = try format.write(catalogue, options)
        #expect(export.skipped.isEmpty)
        #expect(try format.read(export.bytes, options) == catalogue)
        if format == .xcstrings {
            #expect(try Self.sorted(JSONValue(parsing: export.bytes)) == Self.sorted(JSONValue(parsing: bytes)))
        }
    }

    private static func sorted(_ json: JSONValue) -> JSONValue {
        guard case .object(let members) = json else { return json }
        return .object(members.map { .init($0.name, sorted($0.value)) }.sorted { $0.name < $1.name })
    }

    @Test("files of other tools have the expected texts", .enabled(if: Vectors.areThere))
    func contents() throws {
        let english = try #require(Self.english)
        let strings = try CatalogueFormat.strings.read(try Vectors.bytes("Localizable.strings"), try Self.options("en"))
        #expect(
            strings["another key \\ with escaping 2"]?.localizations[english]
                == Localization(.unit(Unit("Dies ist ein weiterer \\ Schlüssel."))))
        #expect(
            strings["A key with \n \n \r"]?.localizations[english]
                == Localization(.unit(Unit("Ein Schlüssel mit \n \n \r"))))
        #expect(strings["welcome_sub_header"]?.comment?.hasSuffix("this is an inline comment\\n dada") == true)
        let wide = try CatalogueFormat.strings.read(try Vectors.bytes("utf-16.strings"), try Self.options("en"))
        #expect(wide["%d devices found"]?.comment == "text = (X number) devices found")

        let czech = try CatalogueFormat.xliff.read(try Vectors.bytes("cs.xliff"), try Self.options("cs"))
        let cs = try #require(LanguageTag("cs"))
        #expect(czech["key"]?.localizations[cs] == Localization(.unit(Unit("Ahoj!"))))
        let dogs = try #require(czech["Dogs %lld"])
        #expect(dogs.origin?.hasSuffix(".stringsdict") == true)
        #expect(dogs.localizations[english]?[try #require(UnitPath("substitutions.dog.plural.one"))] != nil)
    }
}
