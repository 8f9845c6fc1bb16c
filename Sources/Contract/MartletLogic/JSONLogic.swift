/// A JsonLogic rule (jsonlogic.com), compiled once and evaluated often, with the semantics of JavaScript.
///
/// A rule always terminates, reads only its data, and uses no more memory than its steps allow.
public struct JSONLogic: Sendable {
    private let root: LogicNode
    private let maximumSteps: Int

    /// - Throws: `LogicError.unknownOperation`, `.tooDeep`.
    public init(_ rule: LogicValue, operations: LogicOperations = .standard, limits: LogicLimits = LogicLimits())
        throws(LogicError)
    {
        root = try LogicCompiler(operations: operations, maximumDepth: limits.maximumDepth).node(rule)
        maximumSteps = limits.maximumSteps
    }

    /// - Throws: `LogicError.tooManySteps`, `.operationFailed`.
    public func evaluate(_ data: LogicValue = .null) throws(LogicError) -> LogicValue {
        var evaluation = LogicEvaluation(limit: maximumSteps)
        return try evaluation.value(of: root, data)
    }
}

/// One evaluation of a rule, with a count of its steps.
struct LogicEvaluation {
    private let limit: Int
    private var stepsLeft: Int

    init(limit: Int) {
        self.limit = limit
        stepsLeft = limit
    }

    mutating func spend(_ steps: Int = 1) throws(LogicError) {
        stepsLeft -= steps
        guard stepsLeft >= 0 else { throw .tooManySteps(limit: limit) }
    }

    /// Charges for reading a value completely. A list may contain the same list many times, so its size is only known
    /// after walking through it.
    private mutating func spend(on value: LogicValue) throws(LogicError) {
        switch value {
        case .string(let text): if text.utf8.count >= 32 { try spend(text.utf8.count / 32) }
        case .array(let elements):
            try spend(elements.count)
            for element in elements { try spend(on: element) }
        case .object(let members):
            try spend(members.count)
            for member in members.values { try spend(on: member) }
        default: break
        }
    }

    mutating func value(of node: LogicNode, _ data: LogicValue) throws(LogicError) -> LogicValue {
        try spend()
        switch node {
        case .literal(let value): return value
        case .list(let nodes):
            let list = LogicValue.array(try values(of: nodes, data))
            try spend(on: list)
            return list
        case .variable(let path, let otherwise): return try look(up: path, otherwise, data)
        case .computedVariable(let name, let otherwise):
            return try look(up: LogicCompiler.path(of: try value(of: name, data)), otherwise, data)
        case .missing(let nodes): return .array(try missing(try values(of: nodes, data), data))
        case .missingSome(let needed, let names): return try missingSome(needed, names, data)
        case .choice(let nodes): return try choice(nodes, data)
        case .and(let nodes): return try first(of: nodes, isTruthy: false, data)
        case .or(let nodes): return try first(of: nodes, isTruthy: true, data)
        case .each(let iteration, let list, let body): return try each(iteration, try value(of: list, data), body)
        case .reduce(let list, let body, let initial): return try reduce(list, body, initial, data)
        case .comparison(let comparison, let one, let two):
            return .bool(try holds(comparison, try value(of: one, data), try value(of: two, data)))
        case .between(let comparison, let one, let two, let three):
            let middle = try value(of: two, data)
            guard try holds(comparison, try value(of: one, data), middle) else { return false }
            return .bool(try holds(comparison, middle, try value(of: three, data)))
        case .call(let name, let operation, let nodes): return try call(name, operation, try values(of: nodes, data))
        }
    }

    private mutating func values(of nodes: [LogicNode], _ data: LogicValue) throws(LogicError) -> [LogicValue] {
        var values: [LogicValue] = []
        values.reserveCapacity(nodes.count)
        for node in nodes { values.append(try value(of: node, data)) }
        return values
    }

    private mutating func call(
        _ name: String, _ operation: LogicOperations.Operation, _ arguments: [LogicValue]
    ) throws(LogicError) -> LogicValue {
        for argument in arguments { try spend(on: argument) }
        do {
            return try operation(arguments)
        } catch {
            throw .operationFailed(name: name, reason: "\(error)")
        }
    }

    private mutating func holds(_ comparison: LogicNode.Comparison, _ one: LogicValue, _ two: LogicValue)
        throws(LogicError) -> Bool
    {
        try spend(on: one)
        try spend(on: two)
        return comparison.holds(one, two)
    }
}
