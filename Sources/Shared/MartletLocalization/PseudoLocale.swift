public import MartletCore

/// Generated texts that reveal untranslatable and truncated texts before translation starts: `[Ĥéļļö, %@ one two]`.
///
/// Letters get accents, texts become 30 % longer (short ones more), and brackets show truncation. Placeholders,
/// `{name}`, entities and tags are preserved. The tag is `en-XA`, as in Android and CLDR.
public enum PseudoLocale {
    /// The language tag of the accented pseudo-locale.
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
        var remaining = max(length * 3 / 10, 3)
        var extra = ""
        for word in 0... where remaining > 0 {
            extra += " " + padding[word % padding.count]
            remaining -= padding[word % padding.count].utf8.count + 1
            if remaining <= 0 { break }
        }
        return "[" + accented + extra + "]"
    }

    /// Converts the source language's texts to the pseudo-locale. Keys that are not to be translated keep their texts.
    public static func localization(of entry: Entry, in source: LanguageTag) -> Localization {
        let localization = entry.localizations[source] ?? Localization(.unit(Unit(entry.key)))
        guard entry.shouldTranslate else { return localization }
        var changed = localization
        // If the text consists of a single substitution, only the substitution's forms grow.
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
    /// Gives every key a text in the pseudo-locale.
    public mutating func addPseudoLocale(_ language: LanguageTag) {
        for var entry in entries {
            entry.localizations[language] = PseudoLocale.localization(of: entry, in: sourceLanguage)
            self[entry.key] = entry
        }
    }
}

extension Text {
    /// Returns the text with every value transformed.
    func mapped(_ change: (String) -> String) -> Text {
        switch self {
        case .unit(let unit): .unit(Unit(change(unit.value), unit.state))
        case .varied(let axis, let forms): .varied(by: axis, forms.map { .init($0.name, $0.text.mapped(change)) })
        }
    }
}
