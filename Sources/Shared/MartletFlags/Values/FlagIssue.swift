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

/// Collects the first 200 issues, because no one reads more, and the first error even if warnings have filled the list.
struct IssueLog {
    static let maximumIssues = 200

    private(set) var issues: [FlagIssue] = []
    private var hasErrors = false

    mutating func error(_ code: String, at path: String, _ message: String) {
        add(FlagIssue(isError: true, code: code, path: path, message: message))
    }

    mutating func warning(_ code: String, at path: String, _ message: String) {
        add(FlagIssue(isError: false, code: code, path: path, message: message))
    }

    private mutating func add(_ issue: FlagIssue) {
        let isFirstError = issue.isError && !hasErrors
        hasErrors = hasErrors || issue.isError
        guard issues.count < Self.maximumIssues || isFirstError, !issues.contains(issue) else { return }
        issues.append(issue)
    }
}

extension String {
    /// Appends a member's name to this JSON pointer.
    func pointer(to name: String) -> String {
        self + "/" + JSONPointer.escape(name)
    }

    func pointer(to index: Int) -> String { self + "/\(index)" }
}
