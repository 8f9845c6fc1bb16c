import MartletCore

/// The stack frames of a report, wherever Sentry's format has them: read once, and put back once.
struct EventFrames {
    /// Stacks with which there would be more are left as they are.
    private static let maximumCount = 10_000

    /// A frame, and what is known of its place.
    struct Frame {
        var value: JSONValue
        /// Whether its address is the instruction's own, and not the one that the call returns to.
        var isExact: Bool
    }

    private let event: JSONValue
    /// In the report's order. Those that were put in for inlined calls before are left out.
    let frames: [Frame]

    init(_ event: JSONValue) {
        self.event = event
        var budget = Budget()
        let holders = [event] + ["exception", "threads"].flatMap { Self.holders(event[$0]) }
        frames = holders.compactMap { $0["stacktrace"] }.flatMap { budget.frames(of: $0) ?? [] }
    }

    /// The report with other frames in each one's place.
    ///
    /// - Parameter new: as many as there are frames.
    func replaced(by new: [[JSONValue]]) -> JSONValue {
        guard case .object = event else { return event }
        var budget = Budget()
        var left = new[...]
        func stack(_ holder: JSONValue) -> JSONValue {
            guard let stack = holder["stacktrace"], let count = budget.frames(of: stack)?.count else { return holder }
            defer { left = left.dropFirst(count) }
            return holder.withMembers(["stacktrace": stack.withMembers(["frames": .array(Array(left.prefix(count).joined()))])])
        }
        func list(_ value: JSONValue) -> JSONValue {
            switch value {
            case .array(let values): .array(values.map(stack))
            case .object:
                if case .array(let values) = value["values"] { value.withMembers(["values": .array(values.map(stack))]) } else { stack(value) }
            default: value
            }
        }
        var event = stack(event)
        for name in ["exception", "threads"] {
            if let value = event[name] { event = event.withMembers([name: list(value)]) }
        }
        return event
    }

    /// A list, a list in `values`, or the one thing itself.
    private static func holders(_ value: JSONValue?) -> [JSONValue] {
        switch value {
        case .array(let values): values
        case .object:
            if case .array(let values) = value?["values"] { values } else { value.map { [$0] } ?? [] }
        default: []
        }
    }

    /// Counts frames, so that reading and putting back leave out the same.
    private struct Budget {
        private var left = EventFrames.maximumCount

        /// Nil for a stack that is left as it is.
        mutating func frames(of stack: JSONValue) -> [Frame]? {
            guard case .array(let values) = stack["frames"], values.count <= left else { return nil }
            left -= values.count
            let own = values.filter { $0["symbolication"]?.plainText != "inlined" }
            let adjustment = stack["instruction_addr_adjustment"]?.plainText
            return own.enumerated().map { index, value in
                // The innermost comes last.
                Frame(value: value, isExact: adjustment == "none" || adjustment != "all" && index == own.count - 1)
            }
        }
    }
}
