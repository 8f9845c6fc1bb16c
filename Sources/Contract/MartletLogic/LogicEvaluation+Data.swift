/// Operations that read the data.
extension LogicEvaluation {
    mutating func look(up path: [String], _ otherwise: LogicNode?, _ data: LogicValue) throws(LogicError) -> LogicValue
    {
        if let found = Self.find(path, in: data) { return found }
        guard let otherwise else { return .null }
        return try value(of: otherwise, data)
    }

    private static func find(_ path: [String], in data: LogicValue) -> LogicValue? {
        var value = data
        for name in path {
            guard let next = value[name] else { return nil }
            value = next
        }
        return value
    }

    /// Returns those of the names that are absent from the data. The names are `arguments`, or its first element if
    /// that is a list.
    mutating func missing(_ arguments: [LogicValue], _ data: LogicValue) throws(LogicError) -> [LogicValue] {
        var names = arguments
        if case .array(let list)? = arguments.first { names = list }
        try spend(names.count)
        return names.filter { name in
            let found = Self.find(LogicCompiler.path(of: name), in: data) ?? .null
            return found == .null || found == ""
        }
    }

    /// Returns the absent names, or an empty list if at least `needed` of them are present.
    mutating func missingSome(_ needed: LogicNode, _ names: LogicNode, _ data: LogicValue) throws(LogicError)
        -> LogicValue
    {
        let needed = try value(of: needed, data).number
        guard case .array(let names) = try value(of: names, data) else { return [] }
        let missing = try missing([.array(names)], data)
        return Double(names.count - missing.count) >= needed ? [] : .array(missing)
    }
}

/// Operations that evaluate only some of their arguments, or one of them repeatedly.
extension LogicEvaluation {
    mutating func choice(_ nodes: [LogicNode], _ data: LogicValue) throws(LogicError) -> LogicValue {
        var index = 0
        while index + 1 < nodes.count {
            if try value(of: nodes[index], data).isTruthy { return try value(of: nodes[index + 1], data) }
            index += 2
        }
        return index < nodes.count ? try value(of: nodes[index], data) : .null
    }

    /// Evaluates `and` or `or`: returns the first value that is truthy (or falsy), otherwise the last.
    mutating func first(of nodes: [LogicNode], isTruthy: Bool, _ data: LogicValue) throws(LogicError) -> LogicValue {
        var last = LogicValue.null
        for node in nodes {
            last = try value(of: node, data)
            if last.isTruthy == isTruthy { break }
        }
        return last
    }

    /// Evaluates `body` with each element as its data.
    mutating func each(_ iteration: LogicNode.Iteration, _ list: LogicValue, _ body: LogicNode) throws(LogicError)
        -> LogicValue
    {
        var elements: [LogicValue] = []
        if case .array(let list) = list { elements = list }
        var kept: [LogicValue] = []
        for element in elements {
            let result = try value(of: body, element)
            switch iteration {
            case .map: kept.append(result)
            case .filter: if result.isTruthy { kept.append(element) }
            case .all: if !result.isTruthy { return false }
            case .some: if result.isTruthy { return true }
            case .none: if result.isTruthy { return false }
            }
        }
        switch iteration {
        case .map, .filter: return .array(kept)
        case .all: return .bool(!elements.isEmpty)
        case .some: return false
        case .none: return true
        }
    }

    mutating func reduce(_ list: LogicNode, _ body: LogicNode, _ initial: LogicNode, _ data: LogicValue)
        throws(LogicError) -> LogicValue
    {
        let list = try value(of: list, data)
        var accumulator = try value(of: initial, data)
        guard case .array(let elements) = list else { return accumulator }
        for element in elements {
            accumulator = try value(of: body, ["current": element, "accumulator": accumulator])
        }
        return accumulator
    }
}
