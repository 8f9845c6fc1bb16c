import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// What a hook that was asked has answered.
struct HookVerdict: Sendable {
    static let maximumSentence = 500

    /// The members of its answer.
    let answer: JSONValue

    /// - Throws: `hook-refused` with the hook's own sentence, for `{"error":"…"}` and every 4xx; `hook-failed`.
    init(_ hook: Hook, _ ask: () async throws -> WebhookOutcome) async throws {
        let outcome = try await ask()
        let isRefusal = (400..<500).contains(outcome.status ?? 0)
        guard isRefusal || outcome.isAccepted else { throw Self.failed(hook, outcome.cause) }
        let value = outcome.body.readableBytes == 0 ? .object([]) : try? JSONValue(parsing: outcome.body.readableBytesView)
        if let error = value?["error"], error != .null {
            throw HTTPProblem(.hookRefused, Self.sentence(error), cause: "hook \(hook.name)")
        }
        if isRefusal { throw HTTPProblem(.hookRefused, cause: "hook \(hook.name): \(outcome.status ?? 0)") }
        guard let value, case .object = value else { throw Self.failed(hook, "Its answer is not what a hook may answer.") }
        answer = value
    }

    private static func failed(_ hook: Hook, _ cause: String?) -> HTTPProblem {
        HTTPProblem(.hookFailed, "The hook \"\(hook.name)\" could not be asked, or did not answer properly in time.", cause: cause)
    }

    /// The hook's own words, or those of `{"error":{"message":"…"}}`; bounded.
    private static func sentence(_ error: JSONValue) -> String? {
        let text: String? =
            switch (error, error["message"]) {
            case (.string(let text), _), (_, .string(let text)): text
            default: nil
            }
        return text.map { String($0.prefix(maximumSentence)) }
    }
}
