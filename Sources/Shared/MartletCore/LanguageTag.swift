import Foundation
import MartletAPI
import MartletHTTP

/// A language as BCP 47 (RFC 5646 §2.1) names it, in the spelling that §2.1.1 recommends: `en`, `pt-BR`, `zh-Hant-TW`.
///
/// Only its shape is looked at, not whether the registry has it.
public struct LanguageTag: Sendable, Hashable {
    public let text: String

    /// Nil for what is none.
    public init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard text.utf8.count <= 35, let language = parts.first, (2...8).contains(language.utf8.count), language.utf8.allSatisfy(Self.isLetter),
            parts.allSatisfy({ (1...8).contains($0.utf8.count) && $0.utf8.allSatisfy(Self.isLetterOrDigit) })
        else { return nil }
        var spelled = [language.lowercased()]
        for part in parts.dropFirst() {
            // Behind a single character come extensions, in small letters.
            let isExtension = spelled.contains { $0.utf8.count == 1 }
            switch part.utf8.count {
            case 2 where !isExtension: spelled.append(part.uppercased())
            case 4 where !isExtension && part.utf8.allSatisfy(Self.isLetter):
                spelled.append(part.prefix(1).uppercased() + part.dropFirst().lowercased())
            default: spelled.append(part.lowercased())
            }
        }
        guard spelled.last?.utf8.count != 1 else { return nil }
        self.text = spelled.joined(separator: "-")
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool { isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}

extension LanguageTag {
    /// - Throws: `invalid-body`.
    init(_ text: String, field: String) throws {
        guard let tag = LanguageTag(text) else { throw HTTPProblem(.invalidBody, "This is not a language, such as en or de-AT.", field: field) }
        self = tag
    }

    /// The tag and what it is a kind of, in the small letters in which it is looked up: `de-at`, `de` (RFC 4647 §3.4).
    var chain: [String] {
        let parts = text.lowercased().split(separator: "-")
        return parts.indices.reversed().filter { parts[$0].utf8.count > 1 }.map { parts[...$0].joined(separator: "-") }
    }

    /// What somebody reads best, first (`Accept-Language`, RFC 9110 §12.5.4); five at most. What is not understood is left out.
    static func accepted(_ header: String?) -> [LanguageTag] {
        guard let header, header.utf8.count <= 500 else { return [] }
        let weighted = header.split(separator: ",").prefix(20).compactMap { item -> (LanguageTag, Double)? in
            let parts = item.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
            guard let name = parts.first, let tag = LanguageTag(name) else { return nil }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            return quality > 0 ? (tag, quality) : nil
        }
        // Equals stay in their order.
        return weighted.enumerated().sorted { ($1.element.1, $0.offset) < ($0.element.1, $1.offset) }.prefix(5).map(\.element.0)
    }
}
