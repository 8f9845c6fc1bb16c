import MartletCore

/// A release as named by clients: `com.example.app@1.4.2+57`, or `1.4.2`.
public struct ReleaseName: Sendable, Hashable {
    public let text: String
    public let version: String
    /// Empty if there is none.
    public let build: String
    /// `VersionNumber.sortKey`, a tab and the build. Within an app, a key that is greater byte by byte is newer. Nil if
    /// the version is not a number, so that only times can be compared.
    public let sortKey: String?

    public init(_ text: String) {
        self.text = text
        let remainder = text.lastIndex(of: "@").map { text[text.index(after: $0)...] } ?? text[...]
        let parts = remainder.split(separator: "+", maxSplits: 1, omittingEmptySubsequences: false)
        version = String(parts.first ?? "")
        build = parts.count == 2 ? String(parts[1]) : ""
        sortKey = VersionNumber(version).map { $0.sortKey + "\t" + Self.padded(parts.count == 2 ? parts[1] : "") }
    }

    /// The first numbers of a build, padded so that they sort by value.
    private static func padded(_ build: Substring) -> String {
        build.split(separator: ".").prefix(4).map { part in
            let digits = part.prefix { $0.isASCII && $0.isNumber }
            return String(repeating: "0", count: max(0, 12 - digits.count)) + digits + part.dropFirst(digits.count)
        }.joined(separator: ".").cut(to: 100)
    }
}
