import Foundation
import MartletAPI
import MartletCore

/// Links in mail. A link leads only to a URL that the app's server has allowed, whatever a request contains.
enum MailLink {
    static let maximumLength = 500
    private static let placeholder = "{token}"

    /// Checks that a URL is https or uses the app's own scheme, with `{token}` after the host. `{kind}` may follow the
    /// host too.
    ///
    /// - Throws: `invalid-body`.
    static func check(_ url: String, field: String) throws {
        func refusal(_ detail: String) -> ServiceError { ServiceError(.invalidBody, detail, field: field) }
        guard url.utf8.count <= maximumLength,
            url.utf8.allSatisfy({ (0x21...0x7e).contains($0) && !"\"<>\\^`|".utf8.contains($0) })
        else {
            throw refusal("Expected at most \(maximumLength) ASCII characters that a URL may contain.")
        }
        guard url.components(separatedBy: placeholder).count == 2 else {
            throw refusal("Expected a URL that contains {token} exactly once.")
        }
        // Filled with a harmless token, so that it can be parsed as a URL.
        let filled = fill(url, kind: .signIn, token: "t")
        guard !filled.contains(where: { "{}".contains($0) }), let parts = URLComponents(string: filled),
            let scheme = parts.scheme?.lowercased()
        else {
            throw refusal("Expected a valid URL, with no placeholders other than {token} and {kind}.")
        }
        guard !AppScheme.isReserved(scheme) else {
            throw refusal("Expected a URL that begins with https:// or the app's own scheme.")
        }
        guard parts.user == nil, parts.password == nil, scheme != "https" || parts.host?.isEmpty == false else {
            throw refusal("Expected a URL with a host and without a user.")
        }
        let authority = url[..<(url.range(of: placeholder)?.lowerBound ?? url.endIndex)].drop { $0 != ":" }.dropFirst()
        guard authority.hasPrefix("//"),
            authority.dropFirst(2).contains(where: { "/?#".contains($0) }) || scheme != "https"
        else {
            throw refusal("Expected {token} after the host.")
        }
    }

    /// - Parameter token: Must consist of base64url characters, which need no encoding.
    static func fill(_ url: String, kind: MailKind, token: String) -> String {
        url.replacing(placeholder, with: token).replacing("{kind}", with: kind.rawValue)
    }
}
