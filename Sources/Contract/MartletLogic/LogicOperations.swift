import Foundation

/// Operations, by name, that depend only on their arguments.
///
/// Comparisons, `var`, `missing`, `missing_some`, `if`, `?:`, `and`, `or`, `map`, `filter`, `reduce`, `all`, `some` and
/// `none` are part of the language and not listed here.
public struct LogicOperations: Sendable {
    public typealias Operation = @Sendable ([LogicValue]) throws -> LogicValue

    /// The operations of JsonLogic.
    public static let standard = LogicOperations(
        table: arithmetic.merging(lists) { one, _ in one }.merging(texts) { one, _ in one })

    private var table: [String: Operation]

    /// The operation with this name. Setting one replaces JsonLogic's.
    public subscript(name: String) -> Operation? {
        get { table[name] }
        set { table[name] = newValue }
    }

    public var names: Set<String> { Set(table.keys) }

    private static let arithmetic: [String: Operation] = [
        "+": { .number($0.reduce(0) { $0 + $1.leadingNumber }) },
        "*": { $0.count == 1 ? $0[0] : .number($0.reduce(1) { $0 * $1.leadingNumber }) },
        "-": { $0.count < 2 ? .number(-first($0).number) : .number($0[0].number - $0[1].number) },
        "/": { .number(first($0).number / second($0).number) },
        "%": { .number(fmod(first($0).number, second($0).number)) },
        "max": { .number($0.reduce(-.infinity) { $0.isNaN || $1.number.isNaN ? .nan : max($0, $1.number) }) },
        "min": { .number($0.reduce(.infinity) { $0.isNaN || $1.number.isNaN ? .nan : min($0, $1.number) }) },
    ]

    private static let lists: [String: Operation] = [
        "!": { .bool(!first($0).isTruthy) },
        "!!": { .bool(first($0).isTruthy) },
        "merge": { arguments in
            .array(
                arguments.flatMap { argument in
                    if case .array(let elements) = argument { elements } else { [argument] }
                })
        },
        "in": { arguments in
            switch second(arguments) {
            case .string(let text): .bool(contains(text, first(arguments).text))
            case .array(let elements): .bool(elements.contains { $0.isIdentical(to: first(arguments)) })
            default: false
            }
        },
        // Does not print, because no one would read it.
        "log": { first($0) },
    ]

    private static let texts: [String: Operation] = [
        "cat": { .string(LogicValue.array($0).joined(by: "")) },
        "substr": { arguments in
            let units = Array(first(arguments).text.utf16)
            let start = offset(second(arguments), in: units.count)
            var end = units.count
            if arguments.count > 2, arguments[2] != .null {
                let length = whole(arguments[2])
                end = length < 0 ? max(start, end + length) : min(end, start + length)
            }
            return .string(String(decoding: units[start..<end], as: UTF16.self))
        },
    ]

    /// The start index of `String.prototype.substr`: a negative number counts from the end.
    private static func offset(_ value: LogicValue, in count: Int) -> Int {
        let offset = whole(value)
        return offset < 0 ? max(0, count + offset) : min(count, offset)
    }

    /// ToIntegerOrInfinity, clamped to the possible lengths of a text.
    private static func whole(_ value: LogicValue) -> Int {
        let number = value.number
        return number.isNaN ? 0 : Int(max(-1e9, min(1e9, number)))
    }

    private static func contains(_ text: String, _ part: String) -> Bool {
        let units = Array(text.utf8)
        let wanted = Array(part.utf8)
        guard wanted.count <= units.count else { return false }
        return (0...(units.count - wanted.count)).contains { units[$0...].starts(with: wanted) }
    }

    private static func first(_ arguments: [LogicValue]) -> LogicValue { arguments.first ?? .null }

    private static func second(_ arguments: [LogicValue]) -> LogicValue { arguments.count > 1 ? arguments[1] : .null }
}
