public import MartletCore

extension LanguageTag {
    /// The tag followed by its parents, in lower case: `de-at`, `de` (RFC 4647 §3.4).
    public var chain: [String] {
        let parts = text.lowercased().split(separator: "-")
        return parts.indices.reversed().filter { parts[$0].utf8.count > 1 }.map { parts[...$0].joined(separator: "-") }
    }
}
