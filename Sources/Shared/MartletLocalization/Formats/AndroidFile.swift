import MartletCore

/// Android's strings.xml: `string`, `plurals` and `string-array` (keys `days[0]`, `days[1]` …).
///
/// A key that is not a valid resource name (`Hello, %@`) gets a generated name, and the attribute `martlet:key` keeps
/// the key. `xliff:g` elements are replaced by their contents; any other element in a text makes it markup
/// (`Entry.isMarkup`).
enum AndroidFile {
    private static let keyAttribute = "martlet:key"

    static func read(_ bytes: [UInt8], _ options: CatalogueFormat.Options) throws -> Catalogue {
        let language = try options.requiredLanguage()
        let root = try XMLReader.root(of: bytes)
        guard root.name == "resources" else {
            throw LocalizationFault("line \(root.line)", "The root must be <resources>.")
        }
        var catalogue = Catalogue(sourceLanguage: options.sourceLanguage)
        var comment: String?
        for node in root.children {
            switch node {
            case .comment(let text): comment = text.trimmed.nonEmpty
            case .text: continue
            case .element(let element):
                for entry in try entries(element, comment, language) {
                    guard catalogue[entry.key] == nil else {
                        throw LocalizationFault(
                            "line \(element.line)", "The name \"\(entry.key.prefix(128))\" occurs twice.")
                    }
                    catalogue[entry.key] = entry
                }
                comment = nil
            }
        }
        return catalogue
    }

    private static func entries(_ element: XMLElement, _ comment: String?, _ language: LanguageTag) throws -> [Entry] {
        guard let key = element[keyAttribute] ?? element["name"] else {
            throw LocalizationFault("line \(element.line)", "The attribute name is missing.")
        }
        func entry(_ key: String, _ text: Text, isMarkup: Bool) -> Entry {
            var entry = Entry(key)
            entry.comment = comment
            entry.shouldTranslate = element["translatable"] != "false"
            entry.isMarkup = isMarkup
            entry.localizations[language] = Localization(text)
            return entry
        }
        let items = element.elements("item")
        switch element.name {
        case "string": return [entry(key, .unit(unit(element)), isMarkup: element.hasMarkup)]
        case "string-array":
            return items.enumerated().map { entry("\(key)[\($0)]", .unit(unit($1)), isMarkup: $1.hasMarkup) }
        case "plurals":
            let forms = try items.map { item in
                guard let name = item["quantity"], Text.Axis.plural.allows(name) else {
                    throw LocalizationFault(
                        "line \(item.line)", "An item of plurals needs a quantity: zero, one, two, few, many or other.")
                }
                return Text.Form(name, .unit(unit(item)))
            }
            guard !forms.isEmpty else { throw LocalizationFault("line \(element.line)", "The element has no item.") }
            return [entry(key, .forms(forms, by: .plural), isMarkup: items.contains(where: \.hasMarkup))]
        default:
            throw LocalizationFault(
                "line \(element.line)", "<\(element.name)> is not supported: expected string, plurals or string-array.")
        }
    }

    /// Placeholders without an exact equivalent stay unchanged.
    private static func unit(_ element: XMLElement) -> Unit {
        let text = element.hasMarkup ? element.markup : AndroidText.read(element.text)
        return Unit(PlaceholderStyle.android.reading(text) ?? text)
    }

    static func write(_ catalogue: Catalogue, _ options: CatalogueFormat.Options) throws -> CatalogueFormat.Export {
        var writer = AndroidWriter(language: try options.requiredLanguage())
        for entry in catalogue.entries { writer.add(entry) }
        let text = """
            <?xml version="1.0" encoding="utf-8"?>
            <resources\(writer.hasKeys ? " xmlns:martlet=\"urn:martlet:l10n\"" : "")>
            \(writer.body)</resources>

            """
        return .init(bytes: Array(text.utf8), skipped: writer.skipped)
    }
}

extension XMLElement {
    fileprivate var hasMarkup: Bool {
        elements.contains { $0.name != "xliff:g" || $0.hasMarkup }
    }
}

/// Writes one language's resources.
private struct AndroidWriter {
    let language: LanguageTag
    private(set) var body = ""
    private(set) var skipped: [LocalizationFault] = []
    /// Whether any element has the attribute `martlet:key`.
    private(set) var hasKeys = false
    private var names: Set<String> = []
    private var numbers: [String: Int] = [:]
    /// The array currently being written.
    private var array: (name: String, count: Int)?

    init(language: LanguageTag) {
        self.language = language
    }

    mutating func add(_ entry: Entry) {
        guard let localization = entry.localizations[language],
            localization.units().allSatisfy({ $0.unit.state != .new })
        else { return }
        do {
            if let element = Self.arrayElement(entry.key), case .unit(let unit) = localization.text,
                localization.substitutions.isEmpty,
                element.index == (array?.name == element.name ? array?.count : 0),
                array?.name == element.name || !names.contains(element.name)
            {
                try addItem(entry, unit, of: element.name)
            } else {
                try addElement(entry, localization)
            }
        } catch let fault as LocalizationFault {
            skipped.append(LocalizationFault(entry.key, fault.reason))
        } catch {
            skipped.append(LocalizationFault(entry.key, "\(error)"))
        }
    }

    private mutating func addItem(_ entry: Entry, _ unit: Unit, of name: String) throws {
        let item = "        <item>\(try text(unit.value, entry))</item>\n"
        if let count = array?.count, array?.name == name {
            let end = "    </string-array>\n"
            body.removeLast(end.count)
            body += item + end
            array = (name, count + 1)
        } else {
            body +=
                comment(entry) + "    <string-array name=\"\(name)\"\(flag(entry))>\n" + item + "    </string-array>\n"
            names.insert(name)
            array = (name, 1)
        }
    }

    private mutating func addElement(_ entry: Entry, _ localization: Localization) throws {
        if case .unit(let unit) = localization.text, localization.substitutions.isEmpty {
            let text = try text(unit.value, entry)
            body += comment(entry) + "    <string \(name(entry))\(flag(entry))>\(text)</string>\n"
        } else if let forms = localization.pluralForms {
            let items = try forms.map {
                "        <item quantity=\"\($0.category)\">\(try text($0.unit.value, entry))</item>\n"
            }
            body +=
                comment(entry) + "    <plurals \(name(entry))\(flag(entry))>\n" + items.joined() + "    </plurals>\n"
        } else {
            throw LocalizationFault(
                "", "Android does not support forms by device or width, or substitutions within a text.")
        }
        array = nil
    }

    /// The attributes that name the entry.
    private mutating func name(_ entry: Entry) -> String {
        var name = entry.key
        if !Self.isName(name) || names.contains(name) {
            hasKeys = true
            let plain = String(
                entry.key.unicodeScalars.prefix(40).map { Self.isName("_" + String($0)) ? Character($0) : "_" })
            name = Self.isName(plain) ? plain : "_" + plain
            let stem = name
            while names.contains(name) {
                // The last number for this stem, so that many names with the same stem do not take quadratic time.
                numbers[stem, default: 1] += 1
                name = "\(stem)_\(numbers[stem, default: 2])"
            }
        }
        names.insert(name)
        return "name=\"\(name)\"" + (name == entry.key ? "" : " martlet:key=\(XMLText.quoted(entry.key))")
    }

    private func flag(_ entry: Entry) -> String { entry.shouldTranslate ? "" : " translatable=\"false\"" }

    private func comment(_ entry: Entry) -> String {
        entry.comment.map { "    <!-- \(XMLText.comment($0)) -->\n" } ?? ""
    }

    private func text(_ value: String, _ entry: Entry) throws -> String {
        guard let text = PlaceholderStyle.android.text(of: value) else {
            throw LocalizationFault("", "The text's placeholders have no exact equivalent on Android.")
        }
        if entry.isMarkup, (try? XMLReader.fragment(text)) != nil { return text }
        guard XMLText.canHold(entry.key + (entry.comment ?? "")) else {
            throw LocalizationFault("", "The text has a character that XML cannot represent.")
        }
        return XMLText.escaped(AndroidText.written(text))
    }

    private static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, !(0x30...0x39).contains(first), first != UInt8(ascii: ".") else {
            return false
        }
        return text.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0) || $0 == 0x5f
                || $0 == 0x2e
        }
    }

    /// Splits `days[3]` into `days` and 3.
    private static func arrayElement(_ key: String) -> (name: String, index: Int)? {
        guard key.hasSuffix("]"), let bracket = key.lastIndex(of: "["), isName(String(key[..<bracket])) else {
            return nil
        }
        let digits = key[key.index(after: bracket)...].dropLast()
        guard let index = Int(digits), String(index) == digits, index >= 0 else { return nil }
        return (String(key[..<bracket]), index)
    }
}
