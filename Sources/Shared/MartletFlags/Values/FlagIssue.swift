import MartletCore

/// An error or warning about a flag document, found while compiling it.
public struct FlagIssue: Sendable, Equatable {
    /// Whether the document is refused because of it; false for a warning.
    public let isError: Bool
    /// In kebab-case, e.g. `unknown-operator`.
    public let code: String
    /// A JSON pointer (RFC 6901) into the compiled document.
    public let path: String
    public let message: String
}

/// Collects issues. Only the first 200 are kept; no one reads more.
struct IssueLog {
    static let maximumIssues = 200

    private(set) var issues: [FlagIssue] = []

    mutating func error(_ code: String, at path: String, _ message: String) {
        add(FlagIssue(isError: true, code: code, path: path, message: message))
    }

    mutating func warning(_ code: String, at path: String, _ message: String) {
        add(FlagIssue(isError: false, code: code, path: path, message: message))
    }

    private mutating func add(_ issue: FlagIssue) {
        if issues.count < Self.maximumIssues, !issues.contains(issue) { issues.append(issue) }
    }
}

extension String {
    /// Appends a member's name to this JSON pointer.
    func pointer(to name: String) -> String {
        self + "/" + JSONPointer.escape(name)
    }

    func pointer(to index: Int) -> String { self + "/\(index)" }
}
