public import MartletCore

extension LanguageTag {
    /// The tag and what it is a kind of, in the small letters in which it is looked up: `de-at`, `de` (RFC 4647 §3.4).
    public var chain: [String] {
        let parts = text.lowercased().split(separator: "-")
        return parts.indices.reversed().filter { parts[$0].utf8.count > 1 }.map { parts[...$0].joined(separator: "-") }
    }
}
