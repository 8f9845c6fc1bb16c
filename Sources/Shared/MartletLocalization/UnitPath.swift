import MartletPlurals

/// The position of a unit in a localization: `plural.one`, `device.iphone.plural.one`,
/// `substitutions.dogs.plural.other`; empty for a text without forms.
///
/// A key, `|==|` and a path form the id of a unit in Xcode's XLIFF; JSON and CSV use the same ids. One kind of path
/// names a substitution's argument instead of a text: `substitutions.dogs`, with a value such as `%1$lld`. These
/// formats have no other place for it.
public struct UnitPath: Hashable, Sendable, CustomStringConvertible {
    static let separator = "|==|"
    private static let substitutions = "substitutions"

    public let parts: [String]

    public static let whole = UnitPath([])

    init(_ parts: [String]) {
        self.parts = parts
    }

    /// Nil if the text is not a valid path.
    public init?(_ text: some StringProtocol) {
        parts = text.isEmpty ? [] : text.components(between: ".")
        guard isWellFormed else { return nil }
    }

    /// Splits an id into its key and path.
    static func split(_ id: String) -> (key: String, path: UnitPath)? {
        guard let mark = id.ranges(of: separator).last else { return (id, .whole) }
        return UnitPath(id[mark.upperBound...]).map { (String(id[..<mark.lowerBound]), $0) }
    }

    func joined(to key: String) -> String { parts.isEmpty ? key : key + Self.separator + description }

    public var description: String { parts.joined(separator: ".") }

    static func substitution(_ name: String) -> UnitPath { UnitPath([substitutions, name]) }

    /// The name of the substitution that contains the unit.
    var substitution: String? { parts.first == Self.substitutions ? parts[1] : nil }

    /// The rest of the path below the localization or substitution.
    var forms: ArraySlice<String> { substitution == nil ? parts[...] : parts.dropFirst(2) }

    /// Whether it names a substitution's argument.
    var isArgument: Bool { substitution != nil && forms.isEmpty }

    /// The plural category of the unit, if it is a plural form.
    var category: PluralCategory? {
        let forms = forms
        guard let last = forms.last, forms.dropLast().last == Text.Axis.plural.rawValue else { return nil }
        return PluralCategory(rawValue: last)
    }

    /// The same path with a different plural category at its end.
    func with(_ category: PluralCategory) -> UnitPath { UnitPath(parts.dropLast() + [category.rawValue]) }

    private var isWellFormed: Bool {
        if parts.first == Self.substitutions, !(parts.count >= 2 && Self.isName(parts[1])) { return false }
        let forms = Array(forms)
        guard forms.count.isMultiple(of: 2), forms.count <= 2 * LocalizationLimits.variationDepth else { return false }
        return stride(from: 0, to: forms.count, by: 2).allSatisfy {
            Text.Axis(rawValue: forms[$0])?.allows(forms[$0 + 1]) == true
        }
    }

    /// Whether the text is a valid name for a substitution: letters, digits and `_`, at most 64.
    static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0 == "_" || $0.properties.isAlphabetic || ("0"..."9").contains($0) }
    }
}

extension Localization {
    /// All units with their paths, in order; optionally including the arguments of substitutions.
    public func units(withArguments: Bool = false) -> [(path: UnitPath, unit: Unit)] {
        var units = text.units(below: [])
        for substitution in substitutions {
            let path = UnitPath.substitution(substitution.name)
            if withArguments, let argument = substitution.argument { units.append((path, Unit(argument))) }
            units += substitution.text.units(below: path.parts)
        }
        return units
    }

    /// The unit at a path.
    public subscript(path: UnitPath) -> Unit? {
        guard let name = path.substitution else { return text[path.forms] }
        return substitutions.first { $0.name == name }?.text[path.forms]
    }

    /// Builds a localization from units and their paths.
    ///
    /// - Throws: `LocalizationFault` if paths contradict each other, such as a text both with and without forms, or
    ///   forms by both number and device.
    init(_ units: [(path: UnitPath, unit: Unit)]) throws {
        var text: Text?
        var names: [String] = []
        var forms: [String: Text] = [:]
        var arguments: [String: Placeholder] = [:]
        for (path, unit) in units {
            guard let name = path.substitution else {
                text = try Text.setting(unit, at: path.forms, in: text)
                continue
            }
            if !names.contains(name) { names.append(name) }
            guard path.isArgument else {
                forms[name] = try Text.setting(unit, at: path.forms, in: forms[name])
                continue
            }
            guard let argument = Placeholder.argument(unit.value) else {
                throw LocalizationFault("", "\(path) must be a placeholder such as %1$lld.")
            }
            arguments[name] = argument
        }
        guard let text else {
            throw LocalizationFault("", "There are forms of a substitution, but no text that contains it.")
        }
        let substitutions = names.compactMap { name in
            forms[name].map { text in
                let argument = arguments[name]
                return Substitution(
                    name: name, argumentNumber: argument?.position, formatSpecifier: argument?.specifier.nonEmpty,
                    text: text)
            }
        }
        self.init(text, substitutions: substitutions)
    }

    /// Returns the localization with the unit at a path replaced.
    ///
    /// - Throws: `LocalizationFault`.
    public func setting(_ unit: Unit, at path: UnitPath) throws -> Localization {
        var changed = self
        guard let name = path.substitution else {
            changed.text = try Text.setting(unit, at: path.forms, in: text)
            return changed
        }
        guard !path.isArgument, let index = substitutions.firstIndex(where: { $0.name == name }) else {
            throw LocalizationFault("", "There is no substitution \(name) here.")
        }
        changed.substitutions[index].text = try Text.setting(unit, at: path.forms, in: substitutions[index].text)
        return changed
    }
}

extension Text {
    func units(below path: [String]) -> [(path: UnitPath, unit: Unit)] {
        switch self {
        case .unit(let unit): [(UnitPath(path), unit)]
        case .varied(let axis, let forms): forms.flatMap { $0.text.units(below: path + [axis.rawValue, $0.name]) }
        }
    }

    subscript(path: ArraySlice<String>) -> Unit? {
        switch self {
        case .unit(let unit): path.isEmpty ? unit : nil
        case .varied(let axis, let forms):
            path.first == axis.rawValue
                ? forms.first { $0.name == path.dropFirst().first }?.text[path.dropFirst(2)] : nil
        }
    }

    static func setting(_ unit: Unit, at path: ArraySlice<String>, in text: Text?) throws -> Text {
        guard let axis = path.first.flatMap(Axis.init(rawValue:)), let name = path.dropFirst().first else {
            if case .varied = text { throw LocalizationFault("", "The text has forms; it cannot be set as a whole.") }
            return .unit(unit)
        }
        var forms: [Form] = []
        switch text {
        case nil: break
        case .varied(axis, let others): forms = others
        default: throw LocalizationFault("", "The text has no forms by \(axis).")
        }
        let index = forms.firstIndex { $0.name == name }
        let form = Form(name, try setting(unit, at: path.dropFirst(2), in: index.map { forms[$0].text }))
        if let index { forms[index] = form } else { forms.append(form) }
        return .forms(forms, by: axis)
    }
}

extension String {
    var nonEmpty: String? { isEmpty ? nil : self }
}
