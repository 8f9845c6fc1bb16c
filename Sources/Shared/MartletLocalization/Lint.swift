import MartletCore
import MartletPlurals

/// An error or warning about a catalogue.
public struct LintFinding: Sendable, Equatable {
    public enum Code: String, CaseIterable, Sendable {
        /// A different argument from the source text in the same position: formatting would read arbitrary memory.
        case placeholderMismatch = "placeholder-mismatch"
        /// `%#@name@` without a substitution of that name.
        case unknownSubstitution = "unknown-substitution"
        /// Forms by number or device without `other`: some readers would get no text.
        case missingOther = "missing-other"
        case missingPlaceholder = "missing-placeholder"
        /// A plural category of the language (CLDR) has no form and is replaced by `other`.
        case missingPlural = "missing-plural"
        /// A form that the language's rules never choose.
        case unusedPlural = "unused-plural"
        case unusedSubstitution = "unused-substitution"
        case empty
        /// Whitespace at an end where the source text has none, or vice versa.
        case whitespace
        /// Keys of a published language without a usable text; clients get the fallback's text.
        case missingKeys = "missing-keys"
        case needsReview = "needs-review"
        /// A fallback that is not in the catalogue.
        case unknownFallback = "unknown-fallback"
        /// The number of findings that were left out.
        case more
    }

    public let code: Code
    public let isError: Bool
    /// A JSON pointer into the catalogue's document.
    public let path: String
    public let message: String
}

/// Checks a catalogue for problems that break clients (errors) and suspicious texts (warnings).
///
/// Errors in unpublished languages are reported as warnings, because clients do not get them. At most `maximumFindings`
/// are reported, errors first.
public struct Lint {
    public static let maximumFindings = 1_000

    private let catalogue: Catalogue
    private let published: Set<LanguageTag>
    private var errors: [LintFinding] = []
    private var warnings: [LintFinding] = []

    public static func findings(in catalogue: Catalogue) -> [LintFinding] {
        var lint = Lint(catalogue)
        lint.checkLanguages()
        for entry in catalogue.entries { lint.check(entry) }
        return lint.findings
    }

    private init(_ catalogue: Catalogue) {
        self.catalogue = catalogue
        published = catalogue.publishedLanguages.reduce(into: [catalogue.sourceLanguage]) {
            $0.formUnion(catalogue.chain(of: $1))
        }
    }

    private var findings: [LintFinding] {
        let all = errors + warnings
        guard all.count > Self.maximumFindings else { return all }
        let rest = all.count - Self.maximumFindings
        return all.prefix(Self.maximumFindings) + [
            LintFinding(code: .more, isError: false, path: "", message: "There are \(rest) more.")
        ]
    }

    private mutating func add(_ code: LintFinding.Code, isError: Bool = false, _ path: String, _ message: String) {
        let finding = LintFinding(code: code, isError: isError, path: path, message: message)
        if isError { errors.append(finding) } else { warnings.append(finding) }
    }

    private mutating func checkLanguages() {
        let known = catalogue.allLanguages
        for (language, settings) in catalogue.languages.sorted(by: { $0.key < $1.key }) {
            guard let fallback = settings.fallback, !known.contains(fallback) else { continue }
            add(.unknownFallback, "/languages/\(language)/fallback", "The catalogue has no language \(fallback).")
        }
        for coverage in catalogue.coverage where published.contains(coverage.language) {
            if coverage.missing > 0 {
                add(
                    .missingKeys, "/languages/\(coverage.language)",
                    "\(coverage.missing) of \(coverage.keys) keys have no usable text.")
            }
            if coverage.needsReview > 0 {
                add(.needsReview, "/languages/\(coverage.language)", "\(coverage.needsReview) keys need review.")
            }
        }
    }

    private mutating func check(_ entry: Entry) {
        let source = entry.localizations[catalogue.sourceLanguage] ?? Localization(.unit(Unit(entry.key)))
        let arguments = Arguments(source)
        // A key without a source text says nothing about arguments if it contains no placeholder itself.
        let isKnown = entry.localizations[catalogue.sourceLanguage] != nil || !arguments.kinds.isEmpty
        for (language, localization) in entry.localizations.sorted(by: { $0.key < $1.key }) {
            let place = "/strings/\(JSONPointer.escape(entry.key))/localizations/\(language)"
            let isPublished =
                published.contains(language) && entry.shouldTranslate || language == catalogue.sourceLanguage
            checkForms(localization.text, language, place, isPublished)
            checkSubstitutions(localization, language, place, isPublished)
            if language != catalogue.sourceLanguage {
                checkPlaceholders(localization, against: arguments, place, isPublished && isKnown)
            }
            checkUnits(localization, source, place)
        }
    }

    private mutating func checkForms(_ text: Text, _ language: LanguageTag, _ place: String, _ isPublished: Bool) {
        guard case .varied(let axis, let forms) = text else { return }
        let place = "\(place)/variations/\(axis)"
        if axis != .width, !forms.contains(where: { $0.name == "other" }) {
            add(.missingOther, isError: isPublished, place, "There is no form \"other\".")
        }
        if axis == .plural, let needed = PluralRules.rules(for: language)?.categories {
            let present = forms.compactMap { PluralCategory(rawValue: $0.name) }
            for category in needed where category != .other && !present.contains(category) {
                add(.missingPlural, place, "\(language) has the form \"\(category)\"; \"other\" will stand in for it.")
            }
            // Apple and Android accept an explicit form for zero in every language.
            for category in present where category != .zero && !needed.contains(category) {
                add(.unusedPlural, "\(place)/\(category)", "\(language) has no form \"\(category)\".")
            }
        }
        for form in forms { checkForms(form.text, language, "\(place)/\(form.name)", isPublished) }
    }

    private mutating func checkSubstitutions(
        _ localization: Localization, _ language: LanguageTag, _ place: String, _ isPublished: Bool
    ) {
        let used = Set(
            localization.text.units(below: []).flatMap { Segment.placeholders(of: $0.unit.value) }.compactMap(
                \.substitutionName))
        let present = Set(localization.substitutions.map(\.name))
        for name in used.subtracting(present).sorted() {
            add(.unknownSubstitution, isError: isPublished, place, "There is no substitution for %#@\(name)@.")
        }
        for name in present.subtracting(used).sorted() {
            add(.unusedSubstitution, "\(place)/substitutions/\(name)", "No text has %#@\(name)@.")
        }
        for substitution in localization.substitutions {
            checkForms(substitution.text, language, "\(place)/substitutions/\(substitution.name)", isPublished)
        }
    }

    private mutating func checkPlaceholders(
        _ localization: Localization, against source: Arguments, _ place: String, _ isPublished: Bool
    ) {
        for (path, unit) in localization.units() where path.substitution == nil && unit.isUsable {
            let arguments = Arguments(unit.value, localization)
            if let (position, kind) = arguments.mismatch(with: source) {
                let expected = source.kinds[position].map { "\($0)" } ?? "nothing"
                add(
                    .placeholderMismatch, isError: isPublished, place + path.pointer,
                    "Argument \(position) is \(kind) here, but \(expected) in the source text.")
            }
            // "One dog" needs no number, but "other" does.
            let missing = Set(source.kinds.keys).subtracting(arguments.kinds.keys)
            if !missing.isEmpty, path.category == nil || path.category == .other {
                let list = missing.sorted().map(String.init).joined(separator: ", ")
                add(
                    .missingPlaceholder, place + path.pointer,
                    "The source text has argument \(list), which is missing here.")
            }
            let names = source.names.symmetricDifference(arguments.names)
            if path.category == nil, !names.isEmpty {
                add(
                    .missingPlaceholder, place + path.pointer,
                    "{\(names.sorted().joined(separator: "}, {"))} is only in one of the two texts.")
            }
        }
    }

    private mutating func checkUnits(_ localization: Localization, _ source: Localization, _ place: String) {
        for (path, unit) in localization.units() where unit.state != .new {
            if unit.value.isEmpty { add(.empty, place + path.pointer, "The text is empty.") }
            guard let original = source[path]?.value, !original.isEmpty, !unit.value.isEmpty else { continue }
            if unit.value.blankEnds != original.blankEnds {
                add(.whitespace, place + path.pointer, "Leading or trailing whitespace differs from the source text.")
            }
        }
    }
}

/// The arguments of a text: their types by position, and the names in braces.
private struct Arguments {
    private(set) var kinds: [Int: Kind] = [:]
    private(set) var names: Set<String> = []

    enum Kind {
        case object, integer, float, characters, pointer
    }

    /// All arguments that any form of a source text uses.
    init(_ source: Localization) {
        for (path, unit) in source.units() where path.substitution == nil {
            let form = Arguments(unit.value, source)
            kinds.merge(form.kinds) { old, _ in old }
            names.formUnion(form.names)
        }
    }

    init(_ text: String, _ localization: Localization) {
        var next = 1
        for placeholder in Segment.placeholders(of: text) {
            let substitution = localization.substitutions.first { $0.name == placeholder.substitutionName }
            let position = placeholder.position ?? substitution?.argumentNumber ?? next
            next = max(next, position) + (placeholder.position == nil ? 1 : 0)
            kinds[position] = placeholder.argumentKind(substitution) ?? kinds[position]
        }
        names = Set(
            Segment.segmentsWithBraces(of: text).compactMap {
                if case .placeholder(let brace) = $0 { brace.text } else { nil }
            }.map { String($0.dropFirst().dropLast()) })
    }

    /// The first argument that the source does not have, or has with a different type.
    func mismatch(with source: Arguments) -> (position: Int, kind: Kind)? {
        kinds.sorted { $0.key < $1.key }.first { source.kinds[$0.key] != $0.value }.map { ($0.key, $0.value) }
    }
}

extension Placeholder {
    fileprivate var substitutionName: String? { if case .substitution(let name) = kind { name } else { nil } }

    fileprivate func argumentKind(_ substitution: Localization.Substitution?) -> Arguments.Kind? {
        switch kind {
        case .object: .object
        case .integer: .integer
        case .float: .float
        case .characters: .characters
        case .pointer: .pointer
        case .substitution:
            substitution?.formatSpecifier.flatMap { Placeholder.argument("%" + $0)?.argumentKind(nil) } ?? .integer
        case .substituted: .integer
        case .named: nil
        }
    }
}

extension UnitPath {
    /// The path as the end of a JSON pointer into a localization.
    public var pointer: String {
        let prefix = substitution.map { "/substitutions/\($0)" } ?? ""
        let forms = Array(forms)
        return stride(from: 0, to: forms.count, by: 2).reduce(into: prefix) {
            $0 += "/variations/\(forms[$1])/\(forms[$1 + 1])"
        }
    }
}

extension String {
    /// Whether the text starts with whitespace, and whether it ends with it.
    fileprivate var blankEnds: [Bool] {
        [unicodeScalars.first, unicodeScalars.last].map { $0?.properties.isWhitespace == true }
    }
}
