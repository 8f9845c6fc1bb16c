import MartletPlurals

/// Apple's .stringsdict: a property list of texts with forms by number, device or width.
///
/// A text with plural forms and nothing else is written as the format `%#@plural@` with one variable of that name, and
/// read back from it.
enum StringsDictFile {
    private static let pluralName = "plural"

    static func read(_ bytes: [UInt8], _ options: CatalogueFormat.Options) throws -> Catalogue {
        let language = try options.requiredLanguage()
        let root = try XMLReader.root(of: bytes)
        guard root.name == "plist" else { throw LocalizationFault("line \(root.line)", "This is not a property list.") }
        var catalogue = Catalogue(sourceLanguage: options.sourceLanguage)
        for dictionary in root.elements("dict") {
            for (key, value) in try pairs(of: dictionary) {
                guard catalogue[key] == nil else {
                    throw LocalizationFault("line \(value.line)", "The key \"\(key.prefix(128))\" occurs twice.")
                }
                var entry = Entry(key)
                entry.localizations[language] = try localization(value)
                catalogue[key] = entry
            }
        }
        return catalogue
    }

    private static func pairs(of dictionary: XMLElement) throws -> [(key: String, value: XMLElement)] {
        guard dictionary.name == "dict" else {
            throw LocalizationFault("line \(dictionary.line)", "Expected <dict>, found <\(dictionary.name)>.")
        }
        let elements = dictionary.elements
        guard elements.count.isMultiple(of: 2) else {
            throw LocalizationFault("line \(dictionary.line)", "A dict has a key without a value.")
        }
        return try stride(from: 0, to: elements.count, by: 2).map { index in
            guard elements[index].name == "key" else {
                throw LocalizationFault(
                    "line \(elements[index].line)", "Expected <key>, found <\(elements[index].name)>.")
            }
            return (elements[index].text, elements[index + 1])
        }
    }

    private static func localization(_ element: XMLElement) throws -> Localization {
        let pairs = try pairs(of: element)
        let (axis, rule) = (
            pairs.compactMap { Text.Axis(ruleType: $0.key) }.first, pairs.first { Text.Axis(ruleType: $0.key) != nil }
        )
        if let axis, let rule { return Localization(.forms(try forms(of: rule.value, by: axis), by: axis)) }
        guard let format = pairs.first(where: { $0.key == "NSStringLocalizedFormatKey" }) else {
            throw LocalizationFault("line \(element.line)", "There is no NSStringLocalizedFormatKey.")
        }
        let substitutions = try pairs.filter { $0.key != format.key }.map { try substitution($0.key, $0.value) }
        return Localization(.unit(Unit(format.value.text)), substitutions: substitutions).withPositionsAsNumbers
            .withPluralAsForms(pluralName)
    }

    private static func substitution(_ name: String, _ element: XMLElement) throws -> Localization.Substitution {
        guard UnitPath.isName(name) else {
            throw LocalizationFault(
                "line \(element.line)", "A variable's name must have 1 to 64 letters, digits and _.")
        }
        var specifier: String?
        var forms: [Text.Form] = []
        for (key, value) in try pairs(of: element) {
            switch key {
            case "NSStringFormatSpecTypeKey":
                guard value.text == "NSStringPluralRuleType" else {
                    throw LocalizationFault("line \(value.line)", "Expected the rule NSStringPluralRuleType.")
                }
            case "NSStringFormatValueTypeKey": specifier = value.text
            default:
                guard Text.Axis.plural.allows(key) else {
                    throw LocalizationFault("line \(value.line)", "\"\(key.prefix(64))\" is not a plural category.")
                }
                forms.append(.init(key, .unit(Unit(value.text))))
            }
        }
        guard !forms.isEmpty else { throw LocalizationFault("line \(element.line)", "The variable has no forms.") }
        return .init(name: name, argumentNumber: nil, formatSpecifier: specifier, text: .forms(forms, by: .plural))
            .withGenericArgument
    }

    private static func forms(of element: XMLElement, by axis: Text.Axis) throws -> [Text.Form] {
        try pairs(of: element).map { name, value in
            guard axis.allows(name) else {
                throw LocalizationFault("line \(value.line)", "The variation by \(axis) has no such form.")
            }
            guard value.name == "dict" else { return .init(name, .unit(Unit(value.text))) }
            let inner = try localization(value)
            guard inner.substitutions.isEmpty else {
                throw LocalizationFault("line \(value.line)", "Variables inside a form by device are not supported.")
            }
            return .init(name, inner.text)
        }
    }

    static func write(_ catalogue: Catalogue, _ options: CatalogueFormat.Options) throws -> CatalogueFormat.Export {
        let language = try options.requiredLanguage()
        var body = ""
        var skipped: [LocalizationFault] = []
        for entry in catalogue.entries {
            guard let localization = entry.localizations[language],
                localization.units().allSatisfy({ $0.unit.state != .new })
            else { continue }
            if case .unit = localization.text, localization.substitutions.isEmpty { continue }
            do {
                let xml = try dictionary(localization, indent: 1)
                guard XMLText.canHold(entry.key + xml) else {
                    throw LocalizationFault("", "The text has a character that XML cannot represent.")
                }
                body += "\t<key>\(XMLText.escaped(entry.key))</key>\n" + xml
            } catch let fault as LocalizationFault {
                skipped.append(LocalizationFault(entry.key, fault.reason))
            }
        }
        let head = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            <dict>

            """
        return .init(bytes: Array((head + body + "</dict>\n</plist>\n").utf8), skipped: skipped)
    }

    private static func dictionary(_ localization: Localization, indent: Int) throws -> String {
        switch localization.text {
        case .varied(.plural, let forms):
            let plural = Localization.Substitution(
                name: pluralName, argumentNumber: nil, formatSpecifier: forms.numberSpecifier,
                text: .varied(by: .plural, forms))
            return try dictionary(
                Localization(.unit(Unit("%#@\(pluralName)@")), substitutions: [plural] + localization.substitutions),
                indent: indent)
        case .varied(let axis, let forms):
            guard localization.substitutions.isEmpty else {
                throw LocalizationFault("", "The text has substitutions in forms by \(axis).")
            }
            let inner = try forms.map { form in
                key(form.name, indent + 2) + (form.text.unit.map { string($0.value, indent + 2) } ?? "")
                    + (form.text.unit == nil ? try dictionary(Localization(form.text), indent: indent + 2) : "")
            }
            return dict(key(axis.ruleType, indent + 1) + dict(inner.joined(), indent + 1), indent)
        case .unit(let unit):
            let format =
                key("NSStringLocalizedFormatKey", indent + 1)
                + string(localization.withNumbersAsPositions(unit.value), indent + 1)
            return dict(format + (try localization.substitutions.map { try variable($0, indent + 1) }.joined()), indent)
        }
    }

    private static func variable(_ substitution: Localization.Substitution, _ indent: Int) throws -> String {
        guard case .varied(.plural, let forms) = substitution.text else {
            throw LocalizationFault("", "A substitution has forms by something other than number.")
        }
        let specifier = substitution.formatSpecifier ?? forms.numberSpecifier
        let body = try forms.map { form in
            guard let unit = form.text.unit else {
                throw LocalizationFault("", "A substitution's plural forms have forms of their own.")
            }
            return key(form.name, indent + 1) + string(unit.value.replacingArgument(with: "%" + specifier), indent + 1)
        }
        let head = [("NSStringFormatSpecTypeKey", "NSStringPluralRuleType"), ("NSStringFormatValueTypeKey", specifier)]
        return key(substitution.name, indent)
            + dict(head.map { key($0, indent + 1) + string($1, indent + 1) }.joined() + body.joined(), indent)
    }

    private static func line(_ text: String, _ indent: Int) -> String {
        String(repeating: "\t", count: indent) + text + "\n"
    }

    private static func key(_ name: String, _ indent: Int) -> String {
        line("<key>\(XMLText.escaped(name))</key>", indent)
    }

    private static func string(_ text: String, _ indent: Int) -> String {
        line("<string>\(XMLText.escaped(text))</string>", indent)
    }

    private static func dict(_ body: String, _ indent: Int) -> String {
        line("<dict>", indent) + body + line("</dict>", indent)
    }
}

extension Text.Axis {
    fileprivate var ruleType: String {
        switch self {
        case .plural: "NSStringPluralRuleType"
        case .device: "NSStringDeviceSpecificRuleType"
        case .width: "NSStringVariableWidthRuleType"
        }
    }

    fileprivate init?(ruleType: String) {
        guard let axis = [Self.device, .width].first(where: { $0.ruleType == ruleType }) else { return nil }
        self = axis
    }
}

extension Localization {
    /// Converts `%2$#@dogs@` to the form in Xcode's catalogue: `%#@dogs@`, with the number stored in the substitution.
    fileprivate var withPositionsAsNumbers: Localization {
        guard case .unit(let unit) = text else { return self }
        var changed = self
        let segments = Segment.segments(of: unit.value).map { segment in
            guard case .placeholder(var placeholder) = segment, case .substitution(let name) = placeholder.kind,
                let position = placeholder.position,
                let index = changed.substitutions.firstIndex(where: {
                    $0.name == name && ($0.argumentNumber ?? position) == position
                })
            else { return segment }
            changed.substitutions[index].argumentNumber = position
            placeholder.position = nil
            return .placeholder(placeholder)
        }
        changed.text = .unit(Unit(segments.text, unit.state))
        return changed
    }

    fileprivate func withNumbersAsPositions(_ value: String) -> String {
        Segment.segments(of: value).map { segment in
            guard case .placeholder(var placeholder) = segment, case .substitution(let name) = placeholder.kind,
                placeholder.position == nil
            else { return segment }
            placeholder.position = substitutions.first { $0.name == name }?.argumentNumber
            return .placeholder(placeholder)
        }.text
    }

    /// Reverses the conversion of plural forms to a variable that writing makes.
    fileprivate func withPluralAsForms(_ name: String) -> Localization {
        guard case .unit(let unit) = text, unit.value == "%#@\(name)@", let only = substitutions.first,
            substitutions.count == 1, only.name == name,
            case .varied(.plural, let forms) = only.text
        else { return self }
        let plain = forms.map { form in
            Text.Form(
                form.name,
                .unit(
                    Unit((form.text.unit?.value ?? "").replacingArgument(with: "%" + (only.formatSpecifier ?? "lld")))))
        }
        guard plain.numberSpecifier == only.formatSpecifier else { return self }
        return Localization(.varied(by: .plural, plain))
    }

    /// The plural forms, if the text consists of nothing else: its own, or those of its only substitution.
    var pluralForms: [(category: PluralCategory, unit: Unit)]? {
        let forms: [Text.Form]
        var specifier = "lld"
        switch text {
        case .varied(.plural, let own) where substitutions.isEmpty: forms = own
        case .unit(let unit):
            guard let only = substitutions.first, substitutions.count == 1, unit.value == "%#@\(only.name)@",
                only.argumentNumber ?? 1 == 1,
                case .varied(.plural, let own) = only.text
            else { return nil }
            forms = own
            specifier = only.formatSpecifier ?? own.numberSpecifier
        default: return nil
        }
        let pairs = forms.compactMap { form -> (category: PluralCategory, unit: Unit)? in
            guard let category = PluralCategory(rawValue: form.name), let unit = form.text.unit else { return nil }
            return (category, Unit(unit.value.replacingArgument(with: "%" + specifier), unit.state))
        }
        return pairs.count == forms.count ? pairs : nil
    }
}

extension Localization.Substitution {
    /// Replaces the substitution's number with `%arg`.
    fileprivate var withGenericArgument: Self {
        guard let formatSpecifier, case .varied(let axis, let forms) = text else { return self }
        var changed = self
        changed.text = .varied(
            by: axis,
            forms.map { form in
                let segments = Segment.segments(of: form.text.unit?.value ?? "").map { segment in
                    segment == .placeholder(Placeholder(kind: segment.kind ?? .object, specifier: formatSpecifier))
                        ? .placeholder(Placeholder(kind: .substituted)) : segment
                }
                return .init(form.name, .unit(Unit(segments.text)))
            })
        return changed
    }
}

extension Text {
    var unit: Unit? { if case .unit(let unit) = self { unit } else { nil } }
}

extension [Text.Form] {
    /// The type of the number in plural forms: that of the first form with a number, otherwise `lld`.
    var numberSpecifier: String {
        lazy.compactMap(\.text.unit).flatMap { Segment.placeholders(of: $0.value) }.first {
            $0.kind == .integer || $0.kind == .float
        }?.specifier ?? "lld"
    }
}

extension Segment {
    fileprivate var kind: Placeholder.Kind? {
        if case .placeholder(let placeholder) = self { placeholder.kind } else { nil }
    }
}

extension [Segment] {
    var text: String {
        map { segment in
            switch segment {
            case .text(let text): text
            case .percent: "%%"
            case .placeholder(let placeholder): placeholder.text
            }
        }.joined()
    }
}

extension String {
    /// Replaces `%arg` with a placeholder.
    func replacingArgument(with placeholder: String) -> String {
        guard contains("%arg") else { return self }
        return Segment.segments(of: self).map {
            $0 == .placeholder(Placeholder(kind: .substituted)) ? .text(placeholder) : $0
        }.text
    }
}
