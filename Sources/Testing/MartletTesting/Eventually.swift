/// Waits until `condition` holds, checking every 10 ms.
///
/// Tests poll only with this function. Hand-written loops that never ended, or that ended without a failure, have cost
/// us hours.
/// - Parameters:
///   - expectation: The expected condition, for the failure message: "the message was sent".
///   - limit: The time limit. Long enough that only a hang reaches the limit, even on a slow machine.
/// - Throws: ``NeverHappened`` at the limit, and errors of `condition`.
public func eventually(
    _ expectation: String = "the condition holds", within limit: Duration = .seconds(120), file: StaticString = #fileID,
    line: UInt = #line, isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool
) async throws {
    _ = try await eventually(expectation, within: limit, file: file, line: line) { try await condition() ? () : nil }
}

/// Waits until `value` is not nil and returns it.
public func eventually<Value>(
    _ expectation: String = "there is a value", within limit: Duration = .seconds(120), file: StaticString = #fileID,
    line: UInt = #line, isolation: isolated (any Actor)? = #isolation, value: () async throws -> Value?
) async throws -> Value {
    let deadline = ContinuousClock.now + limit
    while true {
        if let value = try await value() { return value }
        guard .now < deadline else {
            throw NeverHappened(description: "Not within \(limit): \(expectation) (\(file):\(line)).")
        }
        try await Task.sleep(for: .milliseconds(10))
    }
}

/// The error of a test's wait that reached its limit.
public struct NeverHappened: Error, CustomStringConvertible {
    public let description: String
}
