import MartletCore

/// Something that is wrong or doubtful in a description of flags, found while it is compiled.
public struct FlagIssue: Sendable, Equatable {
    /// Whether it is refused, not only doubtful.
    public let isError: Bool
    /// In kebab-case, e.g. `unknown-operator`.
    public let code: String
    /// JSON pointer (RFC 6901) into what was compiled.
    public let path: String
    public let message: String
}

/// Where issues are written down. The first 200 count: who has that many reads no more.
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
    /// The pointer to a member of what this one points to.
    func pointer(to name: String) -> String {
        self + "/" + JSONPointer.escape(name)
    }

    func pointer(to index: Int) -> String { self + "/\(index)" }
}
