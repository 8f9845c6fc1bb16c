import Foundation
import MartletAPI
import MartletCore

/// A URI to which a browser may be sent with an authorization code (RFC 6749 §3.1.2, RFC 8252 §7, RFC 9700 §4.1).
struct RedirectURI: Sendable, Equatable {
    static let maximumSizeInBytes = 1_000

    let text: String

    /// A URI for registration with a client: `https`, `http` on this machine, or an app's own scheme with a dot in it.
    ///
    /// - Throws: `invalid-body`.
    init(registering text: String, field: String = "redirectUris") throws {
        guard let problem = Self.problem(text) else {
            self.text = text
            return
        }
        throw ServiceError(.invalidBody, problem, field: field)
    }

    /// An already registered URI.
    init(of text: String) {
        self.text = text
    }

    private static func problem(_ text: String) -> String? {
        // Other characters are refused, so that no two programs read the URI differently.
        let isPlain = text.utf8.allSatisfy { (0x21...0x7e).contains($0) && !#""<>\^`{|}*#"#.utf8.contains($0) }
        guard isPlain, (1...maximumSizeInBytes).contains(text.utf8.count),
            let parts = URLComponents(string: text, encodingInvalidCharacters: false),
            let scheme = parts.scheme
        else { return "Expected a URI of at most \(maximumSizeInBytes) characters without a fragment." }
        guard parts.user == nil, parts.password == nil, !text.utf8.contains(UInt8(ascii: "@")) else {
            return "Expected a URI without a user."
        }
        guard let path = parts.percentEncodedPath.removingPercentEncoding,
            !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." })
        else { return "Expected a path without . and .. segments." }
        switch scheme {
        case "https": return parts.host.map(isHost) == true ? nil : "Expected an https URI with a host."
        case "http":
            return parts.host.map(isLoopback) == true
                ? nil : "Expected the host of an http URI to be this machine: 127.0.0.1, [::1] or localhost."
        default:
            let isOwn = scheme.contains(".") && scheme == scheme.lowercased()
            return isOwn
                ? nil : "Expected an app's own scheme in lower case with a dot in it, such as com.example.app."
        }
    }

    private static func isHost(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy {
                $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") || Character(Unicode.Scalar($0)).isLetter
                    || Character(Unicode.Scalar($0)).isNumber || "[:]".utf8.contains($0)
            }
    }

    private static func isLoopback(_ host: String) -> Bool {
        ["127.0.0.1", "::1", "[::1]", "localhost"].contains(host)
    }

    /// Whether `text` from a request is this URI. Compared byte for byte, except for the port of a loopback address,
    /// which a native app cannot know in advance (RFC 8252 §7.3).
    func matches(_ text: String) -> Bool {
        // Compares bytes, because Swift also treats different Unicode spellings of a string as equal.
        if self.text.hasSameBytes(as: text) { return true }
        guard let own = Self.withoutLoopbackPort(self.text), let other = Self.withoutLoopbackPort(text) else {
            return false
        }
        return own.elementsEqual(other)
    }

    /// Nil for any other address.
    private static func withoutLoopbackPort(_ text: String) -> [UInt8]? {
        for prefix in ["http://127.0.0.1", "http://[::1]"] where text.utf8.starts(with: prefix.utf8) {
            var rest = text.utf8.dropFirst(prefix.utf8.count)
            if rest.first == UInt8(ascii: ":") {
                let digits = rest.dropFirst().prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
                guard let port = Int(String(digits) ?? ""), (1...65_535).contains(port), digits.count <= 5 else {
                    return nil
                }
                rest = rest.dropFirst(1 + digits.count)
            }
            guard rest.isEmpty || rest.first == UInt8(ascii: "/") || rest.first == UInt8(ascii: "?") else { return nil }
            return Array(prefix.utf8) + rest
        }
        return nil
    }

    /// Whether no other program can receive the redirect. Otherwise, the user of a public client must consent each time
    /// (RFC 8252 §8.6).
    static func isExclusive(_ text: String) -> Bool { text.hasPrefix("https://") }

    /// `text` with parameters added to its query.
    static func adding(_ parameters: [(name: String, value: String)], to text: String) -> String {
        parameters.isEmpty
            ? text : text + (text.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + FormFields.encode(parameters)
    }
}
