public import MartletCore

extension Catalogue {
    /// The number of entries that a merge changes.
    public struct Changes: Sendable, Equatable {
        public var added = 0
        public var changed = 0
        public var unchanged = 0
        public var removed = 0
    }

    /// How the texts of a file are merged.
    public struct MergeRule: Sendable {
        /// Whether to remove texts that the file lacks from the languages that it contains, and keys that then have no
        /// texts.
        public var replaces = false
        /// Whether existing texts of the source language stay unchanged: an XLIFF file contains them only as the basis
        /// of a translation.
        public var keepsSource = false
        /// Whether the file has states. If not, an unchanged text keeps its state.
        public var hasStates = true

        public init(_ format: CatalogueFormat, replaces: Bool, of language: LanguageTag?, in catalogue: Catalogue) {
            self.replaces = replaces
            keepsSource = format == .xliff && language != catalogue.sourceLanguage
            hasStates = format == .xcstrings || format == .xliff || format == .csv
        }
    }

    /// Adopts the texts, comments and flags of another catalogue.
    public mutating func merge(_ other: Catalogue, _ rule: MergeRule) -> Changes {
        var changes = Changes()
        let before = self
        for entry in other.entries {
            let old = self[entry.key]
            let merged = (old ?? Entry(entry.key)).merging(entry, rule, source: sourceLanguage)
            if let old {
                if old == merged { changes.unchanged += 1 } else { changes.changed += 1 }
            } else {
                changes.added += 1
            }
            self[entry.key] = merged
        }
        guard rule.replaces else { return changes }
        let languages = other.entries.reduce(into: Set<LanguageTag>()) { $0.formUnion($1.localizations.keys) }
        var rest = Catalogue(sourceLanguage: sourceLanguage)
        for var entry in entries {
            if other[entry.key] == nil {
                for language in languages where !(rule.keepsSource && language == sourceLanguage) {
                    entry.localizations[language] = nil
                }
                guard !entry.localizations.isEmpty else {
                    changes.removed += 1
                    continue
                }
                if entry != before[entry.key] { changes.changed += 1 }
            }
            rest[entry.key] = entry
        }
        rest.languages = self.languages
        self = rest
        return changes
    }
}

extension Entry {
    fileprivate func merging(_ other: Entry, _ rule: Catalogue.MergeRule, source: LanguageTag) -> Entry {
        var merged = self
        merged.comment = other.comment ?? comment
        merged.origin = other.origin ?? origin
        merged.extractionState = other.extractionState ?? extractionState
        merged.isMarkup = isMarkup || other.isMarkup
        merged.shouldTranslate = shouldTranslate && other.shouldTranslate
        for (language, localization) in other.localizations {
            if rule.keepsSource, language == source, localizations[source] != nil { continue }
            merged.localizations[language] = localization.merged(
                onto: localizations[language], keepingStates: !rule.hasStates)
        }
        return merged
    }
}

extension Localization {
    /// Returns the localization with the old states of unchanged texts, and with the old substitution arguments that
    /// the file does not specify.
    fileprivate func merged(onto old: Localization?, keepingStates: Bool) -> Localization {
        guard let old else { return self }
        var merged = self
        for index in merged.substitutions.indices where merged.substitutions[index].argument == nil {
            let known = old.substitutions.first { $0.name == merged.substitutions[index].name }
            merged.substitutions[index].argumentNumber = known?.argumentNumber
            merged.substitutions[index].formatSpecifier = known?.formatSpecifier
        }
        guard keepingStates else { return merged }
        for (path, unit) in merged.units() {
            guard let known = old[path], known.value == unit.value, let same = try? merged.setting(known, at: path)
            else { continue }
            merged = same
        }
        return merged
    }
}
