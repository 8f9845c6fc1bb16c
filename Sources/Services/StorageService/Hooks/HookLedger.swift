import CoreMetrics
import Foundation
import Logging
import MartletHTTP
import MartletPostgres
import Synchronization

/// Records the outcomes of hook calls. Counts them for `/metrics` by event and outcome, never by app, and keeps the
/// last failures of each hook in its space.
final class HookLedger: Sendable {
    static let maximumFailures = 100
    /// The minimum interval between two recorded failures of a hook, so that a hook that is down does not cause a write
    /// for each call.
    static let pause: Duration = .seconds(1)
    private static let maximumHooks = 10_000

    enum Outcome: String, Sendable, CaseIterable {
        /// Answered 2xx with a valid body.
        case answered
        /// The hook refused the write.
        case refused
        /// Another status, or an invalid answer.
        case status, answer
        case timeout, unreachable, lost
        /// An address that must not be called.
        case address
        /// Not called, because too many calls were in progress.
        case busy
    }

    private struct Key: Hashable {
        var space: AppSchema
        var hook: String
    }

    private struct Recorded {
        var at: ContinuousClock.Instant
        var unnoted = 0
    }

    private let postgres: PostgresClient
    private let spaces: Spaces
    private let logger: Logger
    private let recorded = Mutex<[Key: Recorded]>([:])

    init(postgres: PostgresClient, spaces: Spaces, logger: Logger) {
        self.postgres = postgres
        self.spaces = spaces
        self.logger = logger
    }

    func count(_ hook: Hook, _ outcome: Outcome, took duration: Duration) {
        Counter(
            label: "martlet_storage_hook_calls_total",
            dimensions: [("event", hook.event.rawValue), ("outcome", outcome.rawValue)]
        ).increment()
        Timer(label: "martlet_storage_hook_duration", dimensions: [("event", hook.event.rawValue)])
            .recordNanoseconds(Int64(duration / .nanoseconds(1)))
    }

    /// Counts and records an unsuccessful call.
    func record(_ outcome: WebhookOutcome, of hook: Hook, in space: AppSchema, took duration: Duration) async {
        await record(
            Outcome(outcome.failedBy), status: outcome.status, outcome.failure ?? "", of: hook, in: space,
            took: duration)
    }

    /// Counts and records a failure. Does not throw: if recording fails, that is logged.
    func record(
        _ outcome: Outcome, status: Int?, _ sentence: String, of hook: Hook, in space: AppSchema,
        took duration: Duration
    ) async {
        count(hook, outcome, took: duration)
        guard let unnoted = takeUnrecordedCount(of: Key(space: space, hook: hook.name)) else { return }
        do {
            let table = try space.own("_hook_failures")
            _ = try await spaces.query(
                """
                WITH old AS (
                    DELETE FROM \(table) WHERE id IN (
                        SELECT id FROM \(table) WHERE hook = \(hook.name) ORDER BY id DESC
                        OFFSET \(Self.maximumFailures - 1)))
                INSERT INTO \(table) (hook, outcome, status, error, milliseconds, unnoted)
                SELECT name, \(outcome.rawValue), \(status.map(Int32.init)), \(sentence),
                    \(Int32(clamping: Int64(duration / .milliseconds(1)))), \(Int32(clamping: unnoted))
                FROM \(try space.own("_hooks")) WHERE name = \(hook.name)
                """, in: space, on: postgres)
        } catch {
            logger.debug(
                "Could not record a hook's failure.",
                metadata: ["hook.name": "\(hook.name)", "error.cause": "\(error)"])
        }
    }

    /// The number of unrecorded failures since the last recorded one; nil if this one is not to be recorded either.
    private func takeUnrecordedCount(of key: Key) -> Int? {
        let now = ContinuousClock.now
        return recorded.withLock { recorded in
            if let last = recorded[key], now - last.at < Self.pause {
                recorded[key]?.unnoted += 1
                return nil
            }
            if recorded.count >= Self.maximumHooks { recorded.removeAll() }
            return recorded.updateValue(Recorded(at: now), forKey: key)?.unnoted ?? 0
        }
    }

    /// A failure as shown by management calls.
    struct Failure: Encodable, Sendable {
        var at: String
        var outcome: String
        /// The status of the answer, if there was one.
        var status: Int?
        var error: String
        var milliseconds: Int
        /// The number of earlier failures that were not recorded.
        var unnoted: Int
    }

    /// Failures, newest first.
    func failures(of hook: HookName, limit: Int, in space: AppSchema) async throws -> [Failure] {
        let rows = try await spaces.query(
            """
            SELECT at, outcome, status, error, milliseconds, unnoted FROM \(try space.own("_hook_failures"))
            WHERE hook = \(hook.text) ORDER BY id DESC LIMIT \(limit)
            """, in: space, on: postgres)
        return try rows.map { row in
            Failure(
                at: Timestamps.text(try row.decode(0)), outcome: try row.decode(1), status: try row.decode(2),
                error: try row.decode(3),
                milliseconds: try row.decode(4), unnoted: try row.decode(5))
        }
    }
}

extension HookLedger.Outcome {
    /// - Parameter failure: Why there was no answer; nil if there was one.
    init(_ failure: OutgoingFailure?) {
        self =
            switch failure {
            case nil: .status
            case .answerTooLarge: .answer
            case .timeout: .timeout
            case .unreachable: .unreachable
            case .connectionLost: .lost
            case .privateAddress, .invalidURL: .address
            }
    }
}
