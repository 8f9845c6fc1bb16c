import MartletCore

/// `{"greeting": "Hallo %@", "dogs|==|plural.one": "Ein Hund", …}`: the texts without their states. Every text read is
/// `translated`; texts in the state `new` are not written.
enum FlatJSONFile {
    static func read(_ bytes: [UInt8], _ options: CatalogueFormat.Options) throws -> Catalogue {
        let language = try options.requiredLanguage()
        let json = try XCStringsFile.parsed(bytes)
        guard case .object(let members) = json else {
            throw LocalizationFault("", "Expected an object of keys and texts, found \(json.phrase).")
        }
        var texts = UnitTable()
        for member in members {
            let place = "/" + JSONPointer.escape(member.name)
            guard case .string(let value) = member.value else {
                throw LocalizationFault(
                    place, "Expected a string, found \(member.value.phrase); forms have their own keys.")
            }
            guard let text = options.placeholders.reading(value) else {
                throw LocalizationFault(place, "The text's placeholders have no exact equivalent in the catalogue.")
            }
            try texts.add(member.name, Unit(text), at: place)
        }
        var catalogue = Catalogue(sourceLanguage: options.sourceLanguage)
        try texts.addLocalizations(in: language, to: &catalogue)
        return catalogue
    }

    static func write(_ catalogue: Catalogue, _ options: CatalogueFormat.Options) throws -> CatalogueFormat.Export {
        let language = try options.requiredLanguage()
        var members: [JSONValue.Member] = []
        var skipped: [LocalizationFault] = []
        for entry in catalogue.entries {
            for (path, unit) in entry.localizations[language]?.units(withArguments: true) ?? [] where unit.state != .new
            {
                if let text = path.isArgument ? unit.value : options.placeholders.text(of: unit.value) {
                    members.append(.init(path.joined(to: entry.key), .string(text)))
                } else {
                    skipped.append(
                        LocalizationFault(
                            path.joined(to: entry.key),
                            "The text's placeholders have no exact equivalent in this style."))
                }
            }
        }
        return .init(bytes: Array(JSONValue.object(members).text.utf8), skipped: skipped)
    }
}
