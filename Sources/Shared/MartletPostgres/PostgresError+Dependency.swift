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

    /// Classes of SQLSTATE (PostgreSQL manual, appendix A): 53 is out of resources, 57P shutting down, 57014 time-out.
    private var serverCondition: DependencyCondition {
        guard let sqlState else { return .fault }
        if sqlState == "57014" { return .timeout }
        return sqlState.hasPrefix("53") || sqlState.hasPrefix("57P") ? .unavailable : .fault
    }
}
