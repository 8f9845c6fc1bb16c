import MartletCore
import MartletPlurals

/// XLIFF 1.2 as written by Xcode: one `trans-unit` per unit, whose id is the key with its path (`UnitPath`), grouped by
/// the file in which the key was found. The ids of older exports of .stringsdict files
/// (`/key:dict/name:dict/one:dict/:string`) can be read, too.
///
/// OASIS, XLIFF 1.2 specification. Plural forms that the target language needs and the source language lacks are
/// included, to be filled in.
enum XLIFFFile {
    fileprivate static let defaultOrigin = "Localizable.xcstrings"

    static func write(_ catalogue: Catalogue, _ options: CatalogueFormat.Options) throws -> CatalogueFormat.Export {
        let language = try options.requiredLanguage()
        var origins: [String] = []
        var bodies: [String: String] = [:]
        var skipped: [LocalizationFault] = []
        for entry in catalogue.entries {
            let origin = entry.origin ?? defaultOrigin
            let units = units(of: entry, source: catalogue.sourceLanguage, target: language)
            guard XMLText.canHold(units + origin) else {
                skipped.append(LocalizationFault(entry.key, "The text has a character that XML cannot represent."))
                continue
            }
            if bodies[origin] == nil { origins.append(origin) }
            bodies[origin, default: ""] += units
        }
        let files = origins.map { origin in
            """
              <file original=\(XMLText.quoted(origin)) source-language="\(catalogue.sourceLanguage)" target-language="\(language)" datatype="plaintext">
                <body>
            \(bodies[origin, default: ""])    </body>
              </file>

            """
        }
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2">
            \(files.joined())</xliff>

            """
        return .init(bytes: Array(text.utf8), skipped: skipped)
    }

    private static func units(of entry: Entry, source: LanguageTag, target: LanguageTag) -> String {
        let (from, to) = (entry.localizations[source], entry.localizations[target])
        return paths(from, to, target).map { path in
            let isFixed = path.isArgument || !entry.shouldTranslate
            let unit = to?.units(withArguments: true).first { $0.path == path }?.unit
            let lines = [
                "<source>\(XMLText.escaped(sourceText(from, at: path) ?? (path.isArgument ? unit?.value : nil) ?? entry.key))</source>",
                unit.map { "<target state=\"\($0.state.xliff)\">\(XMLText.escaped($0.value))</target>" },
                entry.comment.map { "<note>\(XMLText.escaped($0))</note>" },
            ]
            let id = XMLText.quoted(path.joined(to: entry.key))
            return "      <trans-unit id=\(id)\(isFixed ? " translate=\"no\"" : "") xml:space=\"preserve\">\n"
                + lines.compactMap(\.self).map { "        \($0)\n" }.joined() + "      </trans-unit>\n"
        }.joined()
    }

    /// The paths at which the target has units, or needs them to translate the source.
    private static func paths(_ source: Localization?, _ target: Localization?, _ language: LanguageTag) -> [UnitPath] {
        let categories = PluralRules.rules(for: language)?.categories ?? [.other]
        var paths: [UnitPath] = []
        for (path, _) in target?.units(withArguments: true) ?? [] { paths.append(path) }
        for (path, _) in source?.units(withArguments: true) ?? [] {
            let needed = path.category == nil || path.category == .zero ? [path] : categories.map(path.with)
            for path in needed where !paths.contains(path) { paths.append(path) }
        }
        return paths.isEmpty ? [.whole] : paths
    }

    private static func sourceText(_ source: Localization?, at path: UnitPath) -> String? {
        let units = source?.units(withArguments: true) ?? []
        let other = path.category == nil ? nil : path.with(.other)
        return [path, other].compactMap { wanted in units.first { $0.path == wanted }?.unit.value }.first
            ?? (path.substitution == nil ? units.first { $0.path == .whole }?.unit.value : nil)
    }

    static func read(_ bytes: [UInt8], _ options: CatalogueFormat.Options) throws -> Catalogue {
        let root = try XMLReader.root(of: bytes)
        guard root.localName == "xliff", root["version"] == "1.2" else {
            throw LocalizationFault("line \(root.line)", "This is not an XLIFF 1.2 file.")
        }
        var catalogue: Catalogue?
        for element in root.elements("file") {
            let file = try XLIFFGroup(element, options)
            var whole = catalogue ?? Catalogue(sourceLanguage: file.source)
            guard whole.sourceLanguage == file.source else {
                throw LocalizationFault("line \(element.line)", "The files have different source languages.")
            }
            // A second reference would copy all entries for each file.
            catalogue = nil
            try file.add(to: &whole)
            catalogue = whole
        }
        guard let catalogue else { throw LocalizationFault("line \(root.line)", "The document has no file element.") }
        return catalogue
    }
}

/// A `file` of an XLIFF document.
private struct XLIFFGroup {
    let source: LanguageTag
    private let target: LanguageTag?
    private let origin: String
    private let line: Int
    private var keys: [String] = []
    private var known: Set<String> = []
    private var comments: [String: String] = [:]
    private var fixed: Set<String> = []
    private var sources = UnitTable()
    private var targets = UnitTable()

    private var isStringsDict: Bool { origin.hasSuffix(".stringsdict") }

    init(_ element: XMLElement, _ options: CatalogueFormat.Options) throws {
        line = element.line
        origin = element["original"] ?? ""
        source = try tag(element["source-language"] ?? "", at: "line \(element.line), source-language")
        target =
            try element["target-language"].map { try tag($0, at: "line \(element.line), target-language") }
            ?? options.language
        for body in element.elements("body") { try addUnits(of: body) }
    }

    private mutating func addUnits(of element: XMLElement) throws {
        for child in element.elements {
            switch child.localName {
            case "group": try addUnits(of: child)
            case "trans-unit": try addUnit(child)
            default: continue
            }
        }
    }

    private mutating func addUnit(_ element: XMLElement) throws {
        let place = "line \(element.line)"
        guard let id = element["id"],
            let (key, path) = isStringsDict ? Self.splitOldID(id) ?? UnitPath.split(id) : UnitPath.split(id)
        else {
            throw LocalizationFault(place, "The unit has no id, or an unknown one.")
        }
        if known.insert(key).inserted { keys.append(key) }
        if let note = element.first("note")?.text.nonEmpty { comments[key] = note }
        if element["translate"] == "no", !path.isArgument { fixed.insert(key) }
        if let text = try element.first("source").map(Self.text) { try sources.add(key, path, Unit(text), at: place) }
        if let target = element.first("target") {
            try targets.add(key, path, Unit(try Self.text(target), Unit.State(xliff: target["state"])), at: place)
        }
    }

    /// Parses `/key:dict/name:dict/one:dict/:string`.
    private static func splitOldID(_ id: String) -> (key: String, path: UnitPath)? {
        let parts = id.dropFirst().components(between: ":dict/")
        guard id.begins(with: "/"), parts.last == ":string" else { return nil }
        if parts.count == 3, parts[1] == "NSStringLocalizedFormatKey" { return (parts[0], .whole) }
        guard parts.count == 4, UnitPath.isName(parts[1]), PluralCategory(rawValue: parts[2]) != nil else { return nil }
        return (parts[0], UnitPath(UnitPath.substitution(parts[1]).parts + ["plural", parts[2]]))
    }

    private static func text(_ element: XMLElement) throws -> String {
        if let inline = element.elements.first(where: { !["g", "mrk"].contains($0.localName) }) {
            throw LocalizationFault("line \(inline.line)", "The inline element <\(inline.name)> is not supported.")
        }
        return element.text
    }

    func add(to catalogue: inout Catalogue) throws {
        var file = Catalogue(sourceLanguage: source)
        if target != source { try sourceUnits.addLocalizations(in: source, to: &file) }
        if let target { try targets.addLocalizations(in: target, to: &file) }
        for key in keys {
            var entry = file[key] ?? Entry(key)
            entry.comment = comments[key]
            entry.shouldTranslate = !fixed.contains(key)
            entry.origin = origin == XLIFFFile.defaultOrigin ? nil : origin.nonEmpty
            if let other = catalogue[key], other.localizations != entry.localizations || target == nil {
                // A .stringsdict file overrides the .strings file of the same table.
                guard isStringsDict || other.origin?.hasSuffix(".stringsdict") == true else {
                    throw LocalizationFault(
                        "line \(line)",
                        "The key \"\(key.prefix(128))\" is in \(other.origin ?? "another file") with different texts.")
                }
                if !isStringsDict { continue }
            }
            catalogue[key] = entry
        }
    }

    /// The source units without those that exist only to be translated: keys that are their own text, and copies of
    /// `other` for categories that the language lacks.
    private var sourceUnits: UnitTable {
        var table = UnitTable()
        let categories = PluralRules.rules(for: source)?.categories ?? PluralCategory.allCases
        for key in keys {
            let units = sources[key]
            if units.count == 1, units[0].path == .whole, units[0].unit.value == key { continue }
            for (path, unit) in units {
                let other = path.category == nil ? nil : units.first { $0.path == path.with(.other) }?.unit
                if let category = path.category, !categories.contains(category), other == unit { continue }
                // Cannot fail: these units come from a table, so their paths are unique.
                try? table.add(key, path, unit, at: "")
            }
        }
        return table
    }
}

extension Unit.State {
    fileprivate var xliff: String {
        switch self {
        case .new: "new"
        case .translated: "translated"
        case .needsReview: "needs-review-translation"
        }
    }

    /// A target without a state counts as translated.
    fileprivate init(xliff: String?) {
        switch xliff {
        case nil, "translated", "final", "signed-off": self = .translated
        case "new", "needs-translation": self = .new
        default: self = .needsReview
        }
    }
}
