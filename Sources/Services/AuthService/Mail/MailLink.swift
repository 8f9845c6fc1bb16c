import Foundation
import MartletAPI
import MartletHTTP

/// Links in mail lead where the app's server has allowed, and nowhere else: no request, and no header of one, can make another.
enum MailLink {
    static let maximumLength = 500
    private static let placeholder = "{token}"
    /// What a browser or a phone would take for something else than an app.
    private static let refusedSchemes: Set<String> = [
        "http", "javascript", "data", "file", "vbscript", "about", "blob", "mailto", "tel", "sms", "ftp", "ws", "wss", "view-source", "intent",
        "content",
    ]

    /// An https address, or one of a scheme that is the app's own, with `{token}` behind the host; `{kind}` may stand there, too.
    ///
    /// - Throws: `invalid-body`.
    static func check(_ url: String, field: String) throws {
        func refusal(_ detail: String) -> HTTPProblem { HTTPProblem(.invalidBody, detail, field: field) }
        guard url.utf8.count <= maximumLength, url.utf8.allSatisfy({ (0x21...0x7e).contains($0) && !"\"<>\\^`|".utf8.contains($0) }) else {
            throw refusal("A link has at most \(maximumLength) characters, all of ASCII and none blank.")
        }
        guard url.components(separatedBy: placeholder).count == 2 else { throw refusal("A link has {token} in it, once.") }
        // Around something harmless, for the parser.
        let filled = fill(url, kind: .signIn, token: "t")
        guard !filled.contains(where: { "{}".contains($0) }), let parts = URLComponents(string: filled), let scheme = parts.scheme?.lowercased()
        else {
            throw refusal("This is not an address.")
        }
        guard !refusedSchemes.contains(scheme) else { throw refusal("A link begins with https:// or a scheme of the app's own.") }
        guard parts.user == nil, parts.password == nil, scheme != "https" || parts.host?.isEmpty == false else { throw refusal("This is not an address.") }
        let authority = url[..<(url.range(of: placeholder)?.lowerBound ?? url.endIndex)].drop { $0 != ":" }.dropFirst()
        guard authority.hasPrefix("//"), authority.dropFirst(2).contains(where: { "/?#".contains($0) }) || scheme != "https" else {
            throw refusal("{token} stands behind the host.")
        }
    }

    /// - Parameter token: of base64url characters, which need no encoding.
    static func fill(_ url: String, kind: MailKind, token: String) -> String {
        url.replacing(placeholder, with: token).replacing("{kind}", with: kind.rawValue)
    }
}

/// A language of mails (BCP 47) such as `de` or `de-at`, in small letters: they are looked up, not shown.
struct MailLanguage: Sendable, Equatable {
    let text: String

    /// - Throws: `invalid-body`.
    init(_ text: String, field: String) throws {
        guard let tag = MailLanguage(text) else { throw HTTPProblem(.invalidBody, "This is not a language, such as en or de-AT.", field: field) }
        self = tag
    }

    init?(_ text: String) {
        let small = text.lowercased()
        let parts = small.split(separator: "-", omittingEmptySubsequences: false)
        guard (1...4).contains(parts.count), (2...3).contains(parts[0].utf8.count), parts[0].utf8.allSatisfy({ (0x61...0x7a).contains($0) }),
            parts.dropFirst().allSatisfy({ part in
                (2...8).contains(part.utf8.count) && part.utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) }
            })
        else { return nil }
        self.text = small
    }

    /// The tag and what it is a kind of: `de-at`, `de`.
    var chain: [String] {
        let parts = text.split(separator: "-")
        return (1...parts.count).reversed().map { parts[..<$0].joined(separator: "-") }
    }

    /// What somebody reads best, first (`Accept-Language`, RFC 9110 §12.5.4); five at most. What is not understood is left out.
    static func accepted(_ header: String?) -> [MailLanguage] {
        guard let header, header.utf8.count <= 500 else { return [] }
        let weighted = header.split(separator: ",").prefix(20).compactMap { item -> (MailLanguage, Double)? in
            let parts = item.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
            guard let name = parts.first, let tag = MailLanguage(name) else { return nil }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            return quality > 0 ? (tag, quality) : nil
        }
        // Equals stay in their order.
        return weighted.enumerated().sorted { ($1.element.1, $0.offset) < ($0.element.1, $1.offset) }.prefix(5).map(\.element.0)
    }
}
