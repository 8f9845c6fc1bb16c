import MartletCore

/// A parsed configuration name: `1.2.0` for an app version, or `1.2.0~Dark` for one of its themes.
struct ConfigurationName: Sendable, Hashable {
    let appVersion: String
    let theme: String?

    /// Nil if the text is not such a name.
    init?(_ text: String) {
        let parts = text.split(separator: "~", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, VersionNumber(String(first)) != nil, parts.last?.isEmpty == false else {
            return nil
        }
        appVersion = String(first)
        theme = parts.count == 2 ? String(parts[1]) : nil
    }
}
