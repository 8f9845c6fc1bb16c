/// Waits until `condition` holds, and asks every 10 ms.
///
/// The only way to poll in tests: a loop of one's own that forgets to end, or gives up without failing, has cost us hours.
/// - Parameters:
///   - expectation: What is waited for, as the failure names it: "the message was sent".
///   - limit: A time that only what hangs reaches; a slow machine must not.
/// - Throws: ``NeverHappened`` at the limit, and whatever `condition` throws.
public func eventually(
    _ expectation: String = "the condition holds", within limit: Duration = .seconds(120), file: StaticString = #fileID,
    line: UInt = #line, isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool
) async throws {
    _ = try await eventually(expectation, within: limit, file: file, line: line) { try await condition() ? () : nil }
}

/// Waits until `value` is not nil, and returns it.
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

/// A wait of a test that reached its limit.
public struct NeverHappened: Error, CustomStringConvertible {
    public let description: String
}
