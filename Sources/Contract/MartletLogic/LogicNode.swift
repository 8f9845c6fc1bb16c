/// A compiled rule. Evaluating it requires no look-up by name.
indirect enum LogicNode: Sendable {
    case literal(LogicValue)
    case list([LogicNode])
    /// Path from the root of the data; empty for the data itself.
    case variable(path: [String], otherwise: LogicNode?)
    case computedVariable(LogicNode, otherwise: LogicNode?)
    case missing([LogicNode])
    case missingSome(needed: LogicNode, names: LogicNode)
    /// Condition, value, condition, value, …, otherwise.
    case choice([LogicNode])
    case and([LogicNode])
    case or([LogicNode])
    case each(Iteration, list: LogicNode, body: LogicNode)
    case reduce(list: LogicNode, body: LogicNode, initial: LogicNode)
    case comparison(Comparison, LogicNode, LogicNode)
    case between(Comparison, LogicNode, LogicNode, LogicNode)
    case call(name: String, LogicOperations.Operation, [LogicNode])

    enum Iteration: String {
        case map, filter, all, some, none
    }

    enum Comparison: String {
        case equal = "==", identical = "===", notEqual = "!=", notIdentical = "!=="
        case less = "<", lessOrEqual = "<=", greater = ">", greaterOrEqual = ">="

        func holds(_ one: LogicValue, _ two: LogicValue) -> Bool {
            switch self {
            case .equal: one.isLooselyEqual(to: two)
            case .identical: one.isIdentical(to: two)
            case .notEqual: !one.isLooselyEqual(to: two)
            case .notIdentical: !one.isIdentical(to: two)
            case .less: one.isLess(than: two, orEqual: false)
            case .lessOrEqual: one.isLess(than: two, orEqual: true)
            case .greater: two.isLess(than: one, orEqual: false)
            case .greaterOrEqual: two.isLess(than: one, orEqual: true)
            }
        }
    }
}

/// Compiles a rule into nodes.
struct LogicCompiler {
    let operations: LogicOperations
    let maximumDepth: Int

    func node(_ rule: LogicValue, path: String = "", depth: Int = 0) throws(LogicError) -> LogicNode {
        guard depth < maximumDepth else { throw .tooDeep(path: path) }
        switch rule {
        case .array(let elements): return .list(try nodes(elements, path: path, depth: depth))
        case .object(let members) where members.count == 1:
            guard let (name, value) = members.first else { return .literal(rule) }
            let path = path + "/" + Self.escaped(name)
            if case .array(let elements) = value {
                return try operation(name, try nodes(elements, path: path, depth: depth), path: path)
            }
            return try operation(name, [try node(value, path: path, depth: depth + 1)], path: path)
        default: return .literal(rule)
        }
    }

    private func nodes(_ rules: [LogicValue], path: String, depth: Int) throws(LogicError) -> [LogicNode] {
        var nodes: [LogicNode] = []
        for (index, rule) in rules.enumerated() {
            nodes.append(try node(rule, path: "\(path)/\(index)", depth: depth + 1))
        }
        return nodes
    }

    private func operation(_ name: String, _ arguments: [LogicNode], path: String) throws(LogicError) -> LogicNode {
        func argument(_ index: Int) -> LogicNode { index < arguments.count ? arguments[index] : .literal(.null) }
        if let own = operations[name] { return .call(name: name, own, arguments) }
        if let iteration = LogicNode.Iteration(rawValue: name) {
            return .each(iteration, list: argument(0), body: argument(1))
        }
        if let comparison = LogicNode.Comparison(rawValue: name) {
            let isRelational = name.hasPrefix("<") || name.hasPrefix(">")
            guard arguments.count > 2, isRelational else { return .comparison(comparison, argument(0), argument(1)) }
            return .between(comparison, argument(0), argument(1), argument(2))
        }
        switch name {
        case "var": return Self.variable(argument(0), otherwise: arguments.count > 1 ? arguments[1] : nil)
        case "missing": return .missing(arguments)
        case "missing_some": return .missingSome(needed: argument(0), names: argument(1))
        case "if", "?:": return .choice(arguments)
        case "and": return .and(arguments)
        case "or": return .or(arguments)
        case "reduce": return .reduce(list: argument(0), body: argument(1), initial: argument(2))
        default: throw .unknownOperation(name: name, path: path)
        }
    }

    private static func variable(_ name: LogicNode, otherwise: LogicNode?) -> LogicNode {
        guard case .literal(let name) = name else { return .computedVariable(name, otherwise: otherwise) }
        return .variable(path: path(of: name), otherwise: otherwise)
    }

    static func path(of name: LogicValue) -> [String] {
        guard name != .null, name != "" else { return [] }
        return name.text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }

    /// Escapes a name for a JSON pointer (RFC 6901 §3).
    private static func escaped(_ name: String) -> String {
        name.contains { $0 == "~" || $0 == "/" }
            ? String(name.flatMap { $0 == "~" ? "~0" : $0 == "/" ? "~1" : String($0) }) : name
    }
}
