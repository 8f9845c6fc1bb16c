public import Foundation
import MartletKit

/// Tells what happens in plain sentences, and stops where something is not as expected.
public struct Story: Sendable {
    private let tell: @Sendable (String) -> Void

    /// - Parameter tell: Called with each sentence. By default, sentences are printed.
    public init(
        tell: @escaping @Sendable (String) -> Void = { FileHandle.standardOutput.write(Data(($0 + "\n").utf8)) }
    ) { self.tell = tell }

    func chapter(_ title: String) { tell("\n" + title) }

    func says(_ sentence: String) { tell("   " + sentence) }

    /// - Throws: ``StoryError`` with the sentence unless the condition holds.
    func check(_ holds: Bool, _ otherwise: @autoclosure () -> String) throws {
        guard holds else { throw StoryError(otherwise()) }
    }

    /// Checks that the server refuses the call with this code.
    func refuses<Answer>(
        _ code: MartletError.Code = .forbidden, _ what: String, _ call: () async throws -> Answer
    ) async throws {
        do {
            _ = try await call()
        } catch let error as MartletError where error.code == code {
            return says("\(what): refused (\(code.rawValue)).")
        }
        throw StoryError("\(what): the server allowed it.")
    }

    /// Waits until a condition holds that depends on the server or another phone.
    static func wait(
        for what: String, within seconds: TimeInterval = 120, until holds: () async throws -> Bool
    ) async throws {
        let end = Date().addingTimeInterval(seconds)
        while try await !holds() {
            guard Date() < end else { throw StoryError("Waited \(Int(seconds)) seconds for \(what).") }
            try await Task.sleep(nanoseconds: 50_000_000)
        }
    }

    /// Waits until each copy of a service has what one of them has published, which takes up to a second. The gateway
    /// takes the copies in turn, so the condition must hold several times in a row.
    static func waitForCopies(toKnow what: String, until holds: () async throws -> Bool) async throws {
        try await wait(for: "each copy of the service to know \(what)") {
            for _ in 0..<6 {
                guard try await holds() else { return false }
            }
            return true
        }
    }
}

extension Story {
    /// The result of work that must end within some seconds.
    static func within<Answer: Sendable>(
        _ seconds: TimeInterval, _ what: String, _ work: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        try await withThrowingTaskGroup(of: Answer.self) { group in
            group.addTask(operation: work)
            group.addTask {
                try await Task.sleep(nanoseconds: UInt64(seconds * 1_000_000_000))
                throw StoryError("Waited \(Int(seconds)) seconds for \(what).")
            }
            defer { group.cancelAll() }
            guard let answer = try await group.next() else { throw CancellationError() }
            return answer
        }
    }
}

/// A step of a story did not have the expected result.
public struct StoryError: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}
