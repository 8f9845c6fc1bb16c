/// A BCP 47 language tag (RFC 5646 §2.1) in the case recommended by §2.1.1: `en`, `pt-BR`, `zh-Hant-TW`.
///
/// Only the syntax is checked, not the registry.
public struct LanguageTag: Sendable, Hashable {
    public let text: String

    /// Nil if the syntax is invalid.
    public init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard text.utf8.count <= 35, let language = parts.first, (2...8).contains(language.utf8.count),
            language.utf8.allSatisfy(Self.isLetter),
            parts.allSatisfy({ (1...8).contains($0.utf8.count) && $0.utf8.allSatisfy(Self.isLetterOrDigit) })
        else { return nil }
        var normalized = [language.lowercased()]
        for part in parts.dropFirst() {
            // Extensions follow a single-character subtag and are lower case.
            let isExtension = normalized.contains { $0.utf8.count == 1 }
            switch part.utf8.count {
            case 2 where !isExtension: normalized.append(part.uppercased())
            case 4 where !isExtension && part.utf8.allSatisfy(Self.isLetter):
                normalized.append(part.prefix(1).uppercased() + part.dropFirst().lowercased())
            default: normalized.append(part.lowercased())
            }
        }
        guard normalized.last?.utf8.count != 1 else { return nil }
        self.text = normalized.joined(separator: "-")
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
