import MartletCore

/// The stack frames of a report, wherever Sentry's format has them.
enum EventFrames {
    /// More are left as they are.
    private static let maximumCount = 10_000

    /// A frame, and what is known of its place.
    struct Frame {
        var value: JSONValue
        /// Whether its address is the instruction's own, and not the one that the call returns to.
        var isExact: Bool
    }

    /// The report with each frame replaced by what `change` makes of it, in order. Frames that were put in for inlined calls before are left out.
    static func rewrite(_ event: JSONValue, _ change: (Frame) -> [JSONValue]) -> JSONValue {
        var left = maximumCount
        func frames(_ stack: JSONValue) -> JSONValue {
            guard case .array(let values) = stack["frames"], values.count <= left else { return stack }
            left -= values.count
            let own = values.filter { $0["symbolication"]?.plainText != "inlined" }
            let adjustment = stack["instruction_addr_adjustment"]?.plainText
            let changed = own.enumerated().flatMap { index, value in
                // The innermost comes last.
                change(Frame(value: value, isExact: adjustment == "none" || adjustment != "all" && index == own.count - 1))
            }
            return stack.withMembers(["frames": .array(changed)])
        }
        func stack(_ holder: JSONValue) -> JSONValue {
            guard let found = holder["stacktrace"], case .object = found else { return holder }
            return holder.withMembers(["stacktrace": frames(found)])
        }
        func list(_ value: JSONValue) -> JSONValue {
            switch value {
            case .array(let values): .array(values.map(stack))
            case .object:
                if case .array(let values) = value["values"] { value.withMembers(["values": .array(values.map(stack))]) } else { stack(value) }
            default: value
            }
        }
        guard case .object = event else { return event }
        var event = stack(event)
        for name in ["exception", "threads"] {
            if let value = event[name] { event = event.withMembers([name: list(value)]) }
        }
        return event
    }
}
