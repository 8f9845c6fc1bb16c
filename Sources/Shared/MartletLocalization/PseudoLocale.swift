public import MartletCore

/// Texts that show, before anyone has translated, what is not translatable and what has no room: `[Ĥéļļö, %@ one two]`.
///
/// Letters get accents, the length grows by 30 % (short texts by more), brackets show where a text is cut.
/// Placeholders, `{name}`, entities and tags stay as they are. The tag is `en-XA`, as in Android and CLDR.
public enum PseudoLocale {
    /// The tag of pseudo-locales with accents.
    public static let language = "en-XA"

    private static let accents: [Unicode.Scalar: Unicode.Scalar] = Dictionary(
        uniqueKeysWithValues: zip(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".unicodeScalars,
            "ÅƁÇÐÉƑĜĤÎĴĶĻṀÑÖÞǪŔŠŢÛṼŴẊÝŽåƀçðéƒĝĥîĵķļɱñöþǫŕšţûṽŵẋýž".unicodeScalars))
    private static let padding = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]

    public static func text(_ text: String) -> String {
        guard !text.isEmpty else { return text }
        let accented = Segment.segments(of: text).map { segment in
            if case .text(let plain) = segment { .text(Self.accented(plain)) } else { segment }
        }.text
        let length = text.unicodeScalars.count
        var wanted = max(length * 3 / 10, 3)
        var extra = ""
        for word in 0... where wanted > 0 {
            extra += " " + padding[word % padding.count]
            wanted -= padding[word % padding.count].utf8.count + 1
            if wanted <= 0 { break }
        }
        return "[" + accented + extra + "]"
    }

    /// The source language's texts of a catalogue as those of the pseudo-locale; keys that are not to be translated as
    /// they are.
    public static func localization(of entry: Entry, in source: LanguageTag) -> Localization {
        let localization = entry.localizations[source] ?? Localization(.unit(Unit(entry.key)))
        guard entry.shouldTranslate else { return localization }
        var changed = localization
        // A text that is nothing but a substitution grows in the forms of that.
        if !localization.substitutions.contains(where: { localization.text == .unit(Unit("%#@\($0.name)@")) }) {
            changed.text = localization.text.mapped(text)
        }
        changed.substitutions = localization.substitutions.map {
            var substitution = $0
            substitution.text = substitution.text.mapped(text)
            return substitution
        }
        return changed
    }

    private static func accented(_ text: String) -> String {
        var end: Unicode.Scalar?
        let (hasBrace, hasAngle) = (text.holds("}"), text.holds(">"))
        return text.escaping { scalar in
            if let awaited = end {
                if scalar == awaited { end = nil }
                return nil
            }
            switch scalar {
            case "{" where hasBrace: end = "}"
            case "<" where hasAngle: end = ">"
            default: return accents[scalar].map { String($0) }
            }
            return nil
        }
    }
}

extension Catalogue {
    /// Gives every key a text of the pseudo-locale.
    public mutating func addPseudoLocale(_ language: LanguageTag) {
        for var entry in entries {
            entry.localizations[language] = PseudoLocale.localization(of: entry, in: sourceLanguage)
            self[entry.key] = entry
        }
    }
}

extension Text {
    /// With every value changed.
    func mapped(_ change: (String) -> String) -> Text {
        switch self {
        case .unit(let unit): .unit(Unit(change(unit.value), unit.state))
        case .varied(let axis, let forms): .varied(by: axis, forms.map { .init($0.name, $0.text.mapped(change)) })
        }
    }
}
