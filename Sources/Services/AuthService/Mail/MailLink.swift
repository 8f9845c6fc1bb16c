import Foundation
import MartletAPI
import MartletHTTP

/// Links in mail lead where the app's server has allowed, and nowhere else: no request, and no header of one, can make
/// another.
enum MailLink {
    static let maximumLength = 500
    private static let placeholder = "{token}"

    /// An https address, or one of a scheme that is the app's own, with `{token}` behind the host; `{kind}` may stand
    /// there, too.
    ///
    /// - Throws: `invalid-body`.
    static func check(_ url: String, field: String) throws {
        func refusal(_ detail: String) -> HTTPProblem { HTTPProblem(.invalidBody, detail, field: field) }
        guard url.utf8.count <= maximumLength,
            url.utf8.allSatisfy({ (0x21...0x7e).contains($0) && !"\"<>\\^`|".utf8.contains($0) })
        else {
            throw refusal("A link has at most \(maximumLength) characters, all of ASCII and none blank.")
        }
        guard url.components(separatedBy: placeholder).count == 2 else {
            throw refusal("A link has {token} in it, once.")
        }
        // Around something harmless, for the parser.
        let filled = fill(url, kind: .signIn, token: "t")
        guard !filled.contains(where: { "{}".contains($0) }), let parts = URLComponents(string: filled),
            let scheme = parts.scheme?.lowercased()
        else {
            throw refusal("This is not an address.")
        }
        guard !AppScheme.isTaken(scheme) else {
            throw refusal("A link begins with https:// or a scheme of the app's own.")
        }
        guard parts.user == nil, parts.password == nil, scheme != "https" || parts.host?.isEmpty == false else {
            throw refusal("This is not an address.")
        }
        let authority = url[..<(url.range(of: placeholder)?.lowerBound ?? url.endIndex)].drop { $0 != ":" }.dropFirst()
        guard authority.hasPrefix("//"),
            authority.dropFirst(2).contains(where: { "/?#".contains($0) }) || scheme != "https"
        else {
            throw refusal("{token} stands behind the host.")
        }
    }

    /// - Parameter token: of base64url characters, which need no encoding.
    static func fill(_ url: String, kind: MailKind, token: String) -> String {
        url.replacing(placeholder, with: token).replacing("{kind}", with: kind.rawValue)
    }
}
