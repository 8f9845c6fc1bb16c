/// An error of something a service depends on, told apart just enough for the edge to choose a status.
public protocol DependencyError: Error {
    var condition: DependencyCondition { get }
}

public enum DependencyCondition: Sendable {
    /// Not there, or too busy: trying again later may help.
    case unavailable
    /// Did not answer in time.
    case timeout
    /// The asker went away.
    case cancelled
    /// A fault of ours.
    case fault
}
