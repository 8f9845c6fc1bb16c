/// An error of a dependency of a service, classified just enough to choose an HTTP status.
public protocol DependencyError: Error {
    var condition: DependencyCondition { get }
}

public enum DependencyCondition: Sendable {
    /// Unreachable or overloaded; a later attempt may succeed.
    case unavailable
    /// No answer in time.
    case timeout
    /// The caller cancelled the request.
    case cancelled
    /// An internal error.
    case fault
}
