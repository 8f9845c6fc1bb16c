public import MartletCore

extension PostgresError: DependencyError {
    public var condition: DependencyCondition {
        switch code {
        case .unavailable, .overloaded, .connectionLost, .closed: .unavailable
        case .timeout: .timeout
        case .cancelled: .cancelled
        case .server: serverCondition
        default: .fault
        }
    }

    /// SQLSTATE (PostgreSQL manual, appendix A): class 53 is out of resources, 57P shutting down, 57014 time-out, 55P03 a lock not had in
    /// time, 40001 and 40P01 serialization failure and deadlock, which another attempt may not meet.
    private var serverCondition: DependencyCondition {
        switch sqlState {
        case "57014": .timeout
        case "55P03", "40001", "40P01": .unavailable
        case let state?: state.hasPrefix("53") || state.hasPrefix("57P") ? .unavailable : .fault
        case nil: .fault
        }
    }
}
