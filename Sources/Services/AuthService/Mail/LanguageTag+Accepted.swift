import Foundation
import MartletAPI
import MartletCore
import MartletHTTP

extension LanguageTag {
    /// - Throws: `invalid-body`.
    init(_ text: String, field: String) throws {
        guard let tag = LanguageTag(text) else {
            throw ServiceError.unexpectedMember(
                field, expected: "a language tag such as en or de-AT (BCP 47)", found: text)
        }
        self = tag
    }

    /// The preferred languages in `Accept-Language` (RFC 9110 §12.5.4), the best first, at most five. Invalid parts are
    /// ignored.
    static func accepted(_ header: String?) -> [LanguageTag] {
        guard let header, header.utf8.count <= 500 else { return [] }
        let weighted = header.split(separator: ",").prefix(20).compactMap { item -> (LanguageTag, Double)? in
            let parts = item.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
            guard let name = parts.first, let tag = LanguageTag(name) else { return nil }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            return quality > 0 ? (tag, quality) : nil
        }
        // Languages of equal weight keep their order.
        return weighted.enumerated().sorted { ($1.element.1, $0.offset) < ($0.element.1, $1.offset) }.prefix(5).map(
            \.element.0)
    }
}
