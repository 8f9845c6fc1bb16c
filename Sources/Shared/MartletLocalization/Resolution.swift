public import MartletCore

/// The texts that clients receive for a language: every key, with a text in that language or in a fallback.
extension Catalogue {
    /// The languages in which to look for a text, in order: the language and its parents (`de-AT`, `de`); the first
    /// fallback that one of these declares, with its own parents and fallbacks; and finally the source language.
    public func chain(of language: LanguageTag) -> [LanguageTag] {
        var chain: [LanguageTag] = []
        var next: LanguageTag? = language
        while let step = next, !chain.contains(step) {
            next = nil
            for link in [step] + step.parents where !chain.contains(link) {
                chain.append(link)
                next = next ?? languages[link]?.fallback
            }
        }
        return chain.contains(sourceLanguage) ? chain : chain + [sourceLanguage]
    }

    /// The key's text for a language, and the language from which it comes. A key without any text is its own text, as
    /// in Xcode.
    func resolved(_ entry: Entry, _ chain: [LanguageTag]) -> (localization: Localization, language: LanguageTag) {
        let languages = entry.shouldTranslate ? chain : [sourceLanguage]
        for language in languages {
            guard let localization = entry.localizations[language]?.usable else { continue }
            return (localization, language)
        }
        return (Localization(.unit(Unit(entry.key))), sourceLanguage)
    }

    /// The table of a language that clients receive:
    ///
    ///     {"language": "de-AT", "sourceLanguage": "en", "fallback": ["de", "en"],
    ///      "strings": {"greeting": "Servus %@", "dogs": {"plural": {"one": "Ein Hund", "other": "%lld Hunde"}},
    ///                  "report": {"value": "%#@dogs@", "substitutions": {"dogs": {"argument": 1, "format": "lld",
    ///                  "plural": {…}}}}},
    ///      "languages": {"greeting": "de"}}
    ///
    /// `languages` contains the language of each text that comes from a fallback, because plural forms must be chosen
    /// by that language's rules.
    public func table(of language: LanguageTag) -> JSONValue {
        let chain = chain(of: language)
        return table(language, fallback: Array(chain.dropFirst())) { resolved($0, chain) }
    }

    /// The pseudo-locale's table.
    public func pseudoTable() -> JSONValue? {
        LanguageTag(PseudoLocale.language).map { language in
            table(language, fallback: [sourceLanguage]) {
                (PseudoLocale.localization(of: $0, in: sourceLanguage), language)
            }
        }
    }

    private func table(
        _ language: LanguageTag, fallback: [LanguageTag],
        _ text: (Entry) -> (localization: Localization, language: LanguageTag)
    ) -> JSONValue {
        var strings: [JSONValue.Member] = []
        var fromFallback: [JSONValue.Member] = []
        for entry in entries {
            let (localization, origin) = text(entry)
            strings.append(.init(entry.key, localization.clientJSON))
            if origin != language { fromFallback.append(.init(entry.key, .string(origin.text))) }
        }
        return .object([
            .init("language", .string(language.text)), .init("sourceLanguage", .string(sourceLanguage.text)),
            .init("fallback", .array(fallback.map { .string($0.text) })), .init("strings", .object(strings)),
            .init("languages", .object(fromFallback)),
        ])
    }
}

extension Localization {
    /// The localization without unusable forms. Nil if the rest is incomplete: forms by plural or device need `other`,
    /// forms by width at least one, and the text of every substitution must be complete as well.
    var usable: Localization? {
        guard let text = text.usable else { return nil }
        var changed = Localization(text)
        for var substitution in substitutions {
            guard let text = substitution.text.usable else { return nil }
            substitution.text = text
            changed.substitutions.append(substitution)
        }
        return changed
    }

    /// The JSON that clients receive: a string, or an object of forms.
    fileprivate var clientJSON: JSONValue {
        guard !substitutions.isEmpty else { return text.clientJSON }
        let list = substitutions.map { substitution in
            var members: [JSONValue.Member] = []
            if let number = substitution.argumentNumber { members.append(.init("argument", .number(String(number)))) }
            members.append(.init("format", .string(substitution.formatSpecifier ?? "lld")))
            return JSONValue.Member(substitution.name, .object(members + substitution.text.clientMembers))
        }
        return .object(text.clientMembers + [.init("substitutions", .object(list))])
    }
}

extension Text {
    fileprivate var usable: Text? {
        switch self {
        case .unit(let unit): return unit.isUsable ? self : nil
        case .varied(let axis, let forms):
            let usable = forms.compactMap { form in form.text.usable.map { Form(form.name, $0) } }
            guard !usable.isEmpty, axis == .width || usable.contains(where: { $0.name == "other" }) else { return nil }
            return .varied(by: axis, usable)
        }
    }

    fileprivate var clientJSON: JSONValue {
        if case .unit(let unit) = self { .string(unit.value) } else { .object(clientMembers) }
    }

    fileprivate var clientMembers: [JSONValue.Member] {
        switch self {
        case .unit(let unit): [.init("value", .string(unit.value))]
        case .varied(let axis, let forms):
            [.init(axis.rawValue, .object(forms.map { .init($0.name, $0.text.clientJSON) }))]
        }
    }
}
