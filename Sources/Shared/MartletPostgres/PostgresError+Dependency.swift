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

    /// Classifies SQLSTATEs (PostgreSQL manual, appendix A). Retries may succeed after class 53 (insufficient
    /// resources), 57P (shutdown), 55P03 (lock not available), 40001 (serialization failure), 40P01 (deadlock) and
    /// 25006 (the server takes no writes, as after a fail-over). 57014 is a timeout.
    private var serverCondition: DependencyCondition {
        switch sqlState {
        case "57014": .timeout
        case "55P03", "40001", "40P01", "25006": .unavailable
        case let state?: state.hasPrefix("53") || state.hasPrefix("57P") ? .unavailable : .fault
        case nil: .fault
        }
    }
}
