import MartletCore

/// A release as clients name it: `com.example.app@1.4.2+57`, or `1.4.2`.
public struct ReleaseName: Sendable, Hashable {
    public let text: String
    public let version: String
    /// Empty where there is none.
    public let build: String
    /// `VersionNumber.sortKey`, a tab, the build. Greater is newer, byte by byte, within an app; nil where the version is no number: then only time tells.
    public let sortKey: String?

    public init(_ text: String) {
        self.text = text
        let behind = text.lastIndex(of: "@").map { text[text.index(after: $0)...] } ?? text[...]
        let parts = behind.split(separator: "+", maxSplits: 1, omittingEmptySubsequences: false)
        version = String(parts.first ?? "")
        build = parts.count == 2 ? String(parts[1]) : ""
        sortKey = VersionNumber(version).map { $0.sortKey + "\t" + Self.padded(parts.count == 2 ? parts[1] : "") }
    }

    /// The first numbers of a build, each so wide that it sorts by its value.
    private static func padded(_ build: Substring) -> String {
        build.split(separator: ".").prefix(4).map { part in
            let digits = part.prefix { $0.isASCII && $0.isNumber }
            return String(repeating: "0", count: max(0, 12 - digits.count)) + digits + part.dropFirst(digits.count)
        }.joined(separator: ".").cut(to: 100)
    }
}
