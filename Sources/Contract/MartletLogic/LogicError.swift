/// Why a rule cannot be compiled, or came to no end.
public enum LogicError: Error, Equatable, CustomStringConvertible {
    /// `path`: a JSON pointer (RFC 6901) into the rule.
    case unknownOperation(name: String, path: String)
    case tooDeep(path: String)
    case tooManySteps(limit: Int)
    /// An operation of the host's own threw.
    case operationFailed(name: String, reason: String)

    public var description: String {
        switch self {
        case .unknownOperation(let name, let path): "the operation \"\(name)\" at \"\(path)\" is not known"
        case .tooDeep(let path): "the rule is nested too deep at \"\(path)\""
        case .tooManySteps(let limit): "the rule takes more than \(limit) steps"
        case .operationFailed(let name, let reason): "the operation \"\(name)\" failed: \(reason)"
        }
    }
}

/// Bounds on what a rule may take.
public struct LogicLimits: Sendable {
    /// Of the rule.
    public var maximumDepth: Int
    /// Of one evaluation: one for each part of a rule that is evaluated, for each value that an operation looks at, and
    /// for each 32 bytes of a text.
    public var maximumSteps: Int

    public init(maximumDepth: Int = 64, maximumSteps: Int = 100_000) {
        self.maximumDepth = maximumDepth
        self.maximumSteps = maximumSteps
    }
}
