import MartletCore

/// The live configurations of a space, by app version and theme.
struct ConfigurationIndex: Sendable {
    struct Entry: Sendable {
        let name: ConfigurationName
        let document: LiveDocument
        fileprivate let sortKey: String
    }

    /// By theme, ordered by app version.
    private var byTheme: [String?: [Entry]] = [:]

    init(_ documents: [LiveDocument]) {
        for document in documents {
            guard let name = ConfigurationName(document.key.name), let version = VersionNumber(name.appVersion) else {
                continue
            }
            byTheme[name.theme, default: []].append(Entry(name: name, document: document, sortKey: version.sortKey))
        }
        byTheme = byTheme.mapValues {
            $0.sorted { Array($0.sortKey.utf8).lexicographicallyPrecedes(Array($1.sortKey.utf8)) }
        }
    }

    /// The configuration for the newest app version that is not above `version`.
    ///
    /// - Parameter theme: If nil, the configuration without a theme is chosen, or else the theme Light, or else the
    ///   first theme by name.
    func entry(for version: VersionNumber, theme: String?) -> Entry? {
        if let theme { return newest(of: theme, upTo: version) }
        // The app version takes precedence over the theme.
        let candidates = byTheme.keys.compactMap { newest(of: $0, upTo: version) }
        return candidates.max { left, right in
            left.sortKey == right.sortKey
                ? Self.rank(left) > Self.rank(right) : left.sortKey.utf8.lexicographicallyPrecedes(right.sortKey.utf8)
        }
    }

    /// The themes available to an app of this version, by name.
    func themes(for version: VersionNumber) -> [String] {
        byTheme.keys.compactMap { $0 }.filter { newest(of: $0, upTo: version) != nil }.sorted()
    }

    private static func rank(_ entry: Entry) -> (Int, String) {
        switch entry.name.theme {
        case nil: (0, "")
        case "Light": (1, "")
        case let theme?: (2, theme)
        }
    }

    private func newest(of theme: String?, upTo version: VersionNumber) -> Entry? {
        byTheme[theme]?.last { !version.sortKey.utf8.lexicographicallyPrecedes($0.sortKey.utf8) }
    }
}
