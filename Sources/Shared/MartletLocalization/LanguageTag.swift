/// A language as BCP 47 writes it: `de`, `de-AT`, `zh-Hant-TW`.
public struct LanguageTag: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// In the usual case: language `de`, script `Hant`, region `TW`, the rest in small letters.
    public let text: String

    /// Takes `de_AT`, as POSIX and Java write it, too. Nil for what is no tag, or has more than 35 bytes (RFC 5646, 4.4.1).
    public init?(_ text: some StringProtocol) {
        let parts = text.escaping { $0 == "_" ? "-" : nil }.components(between: "-")
        guard text.utf8.count <= 35, parts.allSatisfy({ (1...8).contains($0.utf8.count) && $0.utf8.allSatisfy(Self.isLetterOrDigit) }),
            let language = parts.first, (2...3).contains(language.utf8.count), language.utf8.allSatisfy({ $0 > 0x39 })
        else { return nil }
        let rest = parts.dropFirst().map { part in
            switch part.utf8.count {
            case 4 where part.utf8.allSatisfy { $0 > 0x39 }: part.prefix(1).uppercased() + part.dropFirst().lowercased()
            case 2: part.uppercased()
            default: part.lowercased()
            }
        }
        self.text = ([language.lowercased()] + rest).joined(separator: "-")
    }

    /// Less and less of the tag: of `zh-Hant-TW` `zh-Hant`, then `zh` (RFC 4647, 3.4).
    public var truncations: [LanguageTag] {
        let parts = text.components(between: "-")
        return (1..<max(parts.count, 1)).reversed().compactMap { LanguageTag(parts.prefix($0).joined(separator: "-")) }
    }

    /// The truncations whose texts a reader of this language can read: what differs by script is another language to its readers, so
    /// `zh-Hant` has none (CLDR's parentLocales).
    public var parents: [LanguageTag] {
        guard hasScript else { return truncations }
        return truncations.filter(\.hasScript)
    }

    private var hasScript: Bool { text.components(between: "-").dropFirst().contains { $0.utf8.count == 4 && $0.utf8.allSatisfy { $0 > 0x39 } } }

    public var description: String { text }

    public static func < (left: LanguageTag, right: LanguageTag) -> Bool { left.text < right.text }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
    }
}
