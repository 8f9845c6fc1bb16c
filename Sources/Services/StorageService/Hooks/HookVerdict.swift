import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// The answer of a hook to a request that waits for it.
struct HookVerdict: Sendable {
    static let maximumSentence = 500

    /// The hook's answer, a JSON object.
    let answer: JSONValue

    /// Calls the hook and records the outcome in the ledger.
    ///
    /// - Throws: `hook-refused` with the hook's own sentence, for `{"error":"…"}` and every 4xx; `hook-failed`,
    ///   `unavailable`.
    init(
        _ hook: Hook, in space: AppSchema, _ ledger: HookLedger, _ call: () async throws -> WebhookOutcome
    ) async throws {
        let start = ContinuousClock.now
        let outcome: WebhookOutcome
        do {
            outcome = try await call()
        } catch is HookClient.Busy {
            ledger.count(hook, .busy, took: .now - start)
            throw ServiceError(.unavailable, "Too many hook calls are in progress. Try again later.")
        }
        let isRefusal = (400..<500).contains(outcome.status ?? 0)
        guard isRefusal || outcome.isAccepted else {
            await ledger.record(outcome, of: hook, in: space, took: .now - start)
            throw Self.failed(hook, outcome.cause)
        }
        let value =
            outcome.body.readableBytes == 0 ? .object([]) : try? JSONValue(parsing: outcome.body.readableBytesView)
        let error = value?["error"].flatMap { $0 == .null ? nil : $0 }
        if isRefusal || error != nil {
            ledger.count(hook, .refused, took: .now - start)
            throw ServiceError(
                .hookRefused, error.flatMap(Self.sentence), cause: "hook \(hook.name): \(outcome.status ?? 0)")
        }
        guard let value, case .object = value else {
            await ledger.record(
                .answer, status: outcome.status, Self.malformedAnswer, of: hook, in: space, took: .now - start)
            throw Self.failed(hook, Self.malformedAnswer)
        }
        ledger.count(hook, .answered, took: .now - start)
        answer = value
    }

    private static let malformedAnswer = "The hook's answer is not valid."

    private static func failed(_ hook: Hook, _ cause: String?) -> ServiceError {
        ServiceError(
            .hookFailed, "The hook \"\(hook.name)\" could not be reached, or did not give a valid answer in time.",
            cause: cause)
    }

    /// The hook's own words, or those of `{"error":{"message":"…"}}`, up to a maximum length.
    private static func sentence(_ error: JSONValue) -> String? {
        let text: String? =
            switch (error, error["message"]) {
            case (.string(let text), _), (_, .string(let text)): text
            default: nil
            }
        return text.map { String($0.prefix(maximumSentence)) }
    }
}
