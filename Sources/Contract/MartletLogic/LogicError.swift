/// Why a rule cannot be compiled or evaluated.
public enum LogicError: Error, Equatable, CustomStringConvertible {
    /// - Parameter path: A JSON pointer (RFC 6901) into the rule.
    case unknownOperation(name: String, path: String)
    case tooDeep(path: String)
    case tooManySteps(limit: Int)
    /// An operation supplied by the host threw an error.
    case operationFailed(name: String, reason: String)

    public var description: String {
        switch self {
        case .unknownOperation(let name, let path): "the operation \"\(name)\" at \"\(path)\" is unknown"
        case .tooDeep(let path): "the rule is nested too deeply at \"\(path)\""
        case .tooManySteps(let limit): "the rule takes more than \(limit) steps"
        case .operationFailed(let name, let reason): "the operation \"\(name)\" failed: \(reason)"
        }
    }
}

/// Limits on compiling and evaluating a rule.
public struct LogicLimits: Sendable {
    /// The maximum nesting of a rule.
    public var maximumDepth: Int
    /// The maximum number of steps in one evaluation. Every evaluated part of a rule, every value that an operation
    /// reads and every 32 bytes of text count as one step.
    public var maximumSteps: Int

    public init(maximumDepth: Int = 64, maximumSteps: Int = 100_000) {
        self.maximumDepth = maximumDepth
        self.maximumSteps = maximumSteps
    }
}
