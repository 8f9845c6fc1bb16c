import MartletCore

/// Finds the errors of a configuration, and values that deserve a warning.
///
/// `{"version","theme","live","languagesList":[…],"mainSettings":{…},"colors":[{"name","red","green","blue","alpha"}],
/// "controllers":[{"name","parent","classType","classProperties":{…},
/// "objectsList":[{"objectName","objectDesc","objectType","objectProperties":{…}}]}],
/// "catalogue":{…},"overrides":[{"name","when","patch"}]}`; every member is optional.
struct ConfigurationCheck {
    enum Limits {
        static let colors = 500
        static let controllers = 500
        static let objectsOfController = 500
        static let objects = 5_000
        static let properties = 100
        static let settings = 1_000
        static let languages = 200
        static let overrides = 100
    }

    static let members: Set<String> = [
        "version", "theme", "live", "languagesList", "mainSettings", "colors", "controllers", "catalogue", "overrides",
    ]

    var findings = Findings()
    var catalogue: PropertyCatalogue
    /// The names of the document's colours, and of those that are used.
    var colors: Set<String> = []
    var usedColors: Set<String> = []
    /// Controllers by name, with their kind and the kinds of their objects by name.
    var controllers: [String: CheckedController] = [:]
    var objectCount = 0

    struct CheckedController {
        var kind: String
        var objects: [String: String] = [:]
    }

    static func findings(in document: JSONValue, named name: ConfigurationName, catalogue: PropertyCatalogue)
        -> [Finding]
    {
        var check = ConfigurationCheck(catalogue: catalogue)
        check.check(document, named: name)
        return check.findings.list
    }

    private init(catalogue: PropertyCatalogue) {
        self.catalogue = catalogue
    }

    private mutating func check(_ document: JSONValue, named name: ConfigurationName) {
        _ = findings.members(document, at: .root, known: Self.members)
        checkHead(document, named: name)
        if let languages = document["languagesList"] { checkLanguages(languages, at: .root / "languagesList") }
        if let settings = document["mainSettings"] { checkSettings(settings, at: .root / "mainSettings") }
        if let kinds = document["catalogue"] { addKinds(kinds, at: .root / "catalogue") }
        if let colors = document["colors"] { checkColors(colors, at: .root / "colors") }
        if let controllers = document["controllers"] { checkControllers(controllers, at: .root / "controllers") }
        if let overrides = document["overrides"] { checkOverrides(overrides, at: .root / "overrides") }
        warnOfUnusedColors(document["colors"])
    }

    private mutating func checkHead(_ document: JSONValue, named name: ConfigurationName) {
        if let version = document["version"], version.string?.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9._+\-]{0,63}/) == nil
        {
            findings.error(
                "wrong-type", at: .root / "version",
                "A version must be a string of 1 to 64 letters, digits and . _ + -, starting with a letter or digit.")
        }
        if let theme = document["theme"], theme.string != name.theme {
            findings.error(
                "theme-mismatch", at: .root / "theme",
                "The theme must match the document's name, which has the theme \(name.theme ?? "none").")
        }
        switch document["live"] {
        case nil, .bool(true): break
        case .bool(false):
            findings.error(
                "held-back", at: .root / "live",
                "A published configuration cannot be held back: live must be true or absent.")
        default: findings.error("wrong-type", at: .root / "live", "Expected true or false.")
        }
    }

    mutating func checkLanguages(_ value: JSONValue, at place: DocumentPlace) {
        var seen: Set<String> = []
        for (index, element) in findings.elements(value, at: place, upTo: Limits.languages).enumerated() {
            guard let text = element.string, let language = LanguageTag(text) else {
                findings.error(
                    "unknown-language", at: place / index, "A language must be a BCP 47 tag such as en or pt-BR.")
                continue
            }
            if language.text != text {
                findings.warning("odd-spelling", at: place / index, "This is usually spelled \(language.text).")
            }
            if !seen.insert(language.text).inserted {
                findings.error("duplicate-name", at: place / index, "\(language.text) occurs twice.")
            }
        }
    }

    mutating func checkSettings(_ value: JSONValue, at place: DocumentPlace) {
        for member in findings.members(value, at: place, upTo: Limits.settings) {
            _ = findings.text(.string(member.name), at: place / member.name)
        }
    }

    private mutating func addKinds(_ value: JSONValue, at place: DocumentPlace) {
        guard findings.members(value, at: place, upTo: PropertyCatalogue.maximumOwnKinds).count > 0 else { return }
        do throws(PropertyCatalogue.Malformed) {
            var extended = catalogue
            try extended.add(value)
            catalogue = extended
        } catch {
            findings.error("malformed-kind", at: error.path.reduce(place, /), error.message)
        }
    }

    // MARK: Colours

    private mutating func checkColors(_ value: JSONValue, at place: DocumentPlace) {
        for (index, color) in findings.elements(value, at: place, upTo: Limits.colors).enumerated() {
            _ = findings.members(color, at: place / index, known: ["name", "red", "green", "blue", "alpha"])
            guard color.members != nil else { continue }
            if let name = findings.text(color["name"], at: place / index / "name"), !colors.insert(name).inserted {
                findings.error("duplicate-name", at: place / index / "name", "There are two colours named \(name).")
            }
            for part in ["red", "green", "blue"] where color[part] == nil {
                findings.error("required", at: place / index / part, "This is required.")
            }
            checkColorParts(color, at: place / index)
        }
    }

    /// Red, green and blue range from 0 to 255 and alpha from 0 to 1, as the original TBAnalytics client reads them.
    mutating func checkColorParts(_ color: JSONValue, at place: DocumentPlace) {
        for (part, limit) in [("red", 255), ("green", 255), ("blue", 255), ("alpha", 1)] {
            guard let value = color[part] else { continue }
            guard case .number(let literal) = value, let number = Double(literal) else {
                findings.error("wrong-type", at: place / part, "Expected a number, found \(value.phrase).")
                continue
            }
            if !(0...Double(limit)).contains(number) {
                findings.error("out-of-range", at: place / part, "Expected 0 to \(limit), found \(value.phrase).")
            }
        }
    }

    mutating func use(color name: String, at place: DocumentPlace) {
        guard !name.isEmpty else { return }
        usedColors.insert(name)
        guard !colors.contains(name) else { return }
        findings.error(
            "unknown-color", at: place,
            "There is no colour named \(name)." + NearMiss.question(for: name, among: colors))
    }

    private mutating func warnOfUnusedColors(_ value: JSONValue?) {
        for (index, color) in (value?.elements ?? []).enumerated() {
            guard let name = color["name"]?.string, !usedColors.contains(name) else { continue }
            findings.warning("unused-color", at: .root / "colors" / index, "Nothing uses the colour \(name).")
        }
    }
}
