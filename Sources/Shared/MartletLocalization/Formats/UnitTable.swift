import MartletCore

/// Collects units, which files list one by one, into localizations.
struct UnitTable {
    private var keys: [String] = []
    private var units: [String: [(path: UnitPath, unit: Unit)]] = [:]

    /// - Parameter id: A key, optionally followed by `|==|` and a path.
    /// - Throws: `LocalizationFault` for an invalid path or a duplicate unit.
    mutating func add(_ id: String, _ unit: Unit, at place: String) throws {
        guard let (key, path) = UnitPath.split(id) else {
            throw LocalizationFault(place, "The path after \(UnitPath.separator) is not valid.")
        }
        try add(key, path, unit, at: place)
    }

    mutating func add(_ key: String, _ path: UnitPath, _ unit: Unit, at place: String) throws {
        if units[key] == nil { keys.append(key) }
        guard !units[key, default: []].contains(where: { $0.path == path }),
            units[key, default: []].count < LocalizationLimits.forms
        else {
            throw LocalizationFault(
                place, "\"\(path.joined(to: key).prefix(128))\" occurs twice, or has too many forms.")
        }
        units[key, default: []].append((path, unit))
    }

    subscript(key: String) -> [(path: UnitPath, unit: Unit)] { units[key, default: []] }

    mutating func remove(_ key: String) { units[key] = [] }

    /// - Throws: `LocalizationFault` naming the key.
    func addLocalizations(in language: LanguageTag, to catalogue: inout Catalogue) throws {
        for key in keys where units[key, default: []].contains(where: { !$0.path.isArgument }) {
            var entry = catalogue[key] ?? Entry(key)
            do {
                entry.localizations[language] = try Localization(units[key, default: []])
            } catch let fault as LocalizationFault {
                throw LocalizationFault("/" + JSONPointer.escape(key), fault.reason)
            }
            catalogue[key] = entry
        }
    }
}
