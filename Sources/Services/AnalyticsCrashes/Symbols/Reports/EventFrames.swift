import MartletCore

/// The stack frames of a report, wherever Sentry's format has them. They are extracted once and written back once.
struct EventFrames {
    /// The maximum number of frames in a report. A stack that would exceed it is left as it is.
    private static let maximumCount = 10_000

    /// A frame and the meaning of its address.
    struct Frame {
        var value: JSONValue
        /// Whether the address is that of the instruction itself rather than the return address of a call.
        var isExact: Bool
    }

    private let event: JSONValue
    /// In the report's order, without the frames that an earlier symbolication inserted for inlined calls.
    let frames: [Frame]

    init(_ event: JSONValue) {
        self.event = event
        var budget = Budget()
        let holders = [event] + ["exception", "threads"].flatMap { Self.holders(event[$0]) }
        frames = holders.compactMap { $0["stacktrace"] }.flatMap { budget.frames(of: $0) ?? [] }
    }

    /// The report with each frame replaced by other frames.
    ///
    /// - Parameter new: The replacements, one array per frame.
    func replaced(by new: [[JSONValue]]) -> JSONValue {
        guard case .object = event else { return event }
        var budget = Budget()
        var remaining = new[...]
        func stack(_ holder: JSONValue) -> JSONValue {
            guard let stack = holder["stacktrace"], let count = budget.frames(of: stack)?.count else { return holder }
            defer { remaining = remaining.dropFirst(count) }
            return holder.withMembers([
                "stacktrace": stack.withMembers(["frames": .array(Array(remaining.prefix(count).joined()))])
            ])
        }
        func list(_ value: JSONValue) -> JSONValue {
            switch value {
            case .array(let values): .array(values.map(stack))
            case .object:
                if case .array(let values) = value["values"] {
                    value.withMembers(["values": .array(values.map(stack))])
                } else {
                    stack(value)
                }
            default: value
            }
        }
        var event = stack(event)
        for name in ["exception", "threads"] {
            if let value = event[name] { event = event.withMembers([name: list(value)]) }
        }
        return event
    }

    /// The objects that may have a stack: the elements of a list or of the list in `values`, or the single object.
    private static func holders(_ value: JSONValue?) -> [JSONValue] {
        switch value {
        case .array(let values): values
        case .object:
            if case .array(let values) = value?["values"] { values } else { value.map { [$0] } ?? [] }
        default: []
        }
    }

    /// Counts frames, so that extracting and writing back skip the same stacks.
    private struct Budget {
        private var remaining = EventFrames.maximumCount

        /// Nil if the stack is left as it is.
        mutating func frames(of stack: JSONValue) -> [Frame]? {
            guard case .array(let values) = stack["frames"], values.count <= remaining else { return nil }
            remaining -= values.count
            let own = values.filter { $0["symbolication"]?.plainText != "inlined" }
            let adjustment = stack["instruction_addr_adjustment"]?.plainText
            return own.enumerated().map { index, value in
                // The innermost frame is the last.
                Frame(value: value, isExact: adjustment == "none" || adjustment != "all" && index == own.count - 1)
            }
        }
    }
}
