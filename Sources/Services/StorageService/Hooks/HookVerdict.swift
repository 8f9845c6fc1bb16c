import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// What a hook that was asked has answered.
struct HookVerdict: Sendable {
    static let maximumSentence = 500

    /// The members of its answer.
    let answer: JSONValue

    /// What came of it is told to the ledger.
    ///
    /// - Throws: `hook-refused` with the hook's own sentence, for `{"error":"…"}` and every 4xx; `hook-failed`.
    init(_ hook: Hook, in space: AppSpace, _ ledger: HookLedger, _ ask: () async throws -> HookClient.Answer) async throws {
        let start = ContinuousClock.now
        do {
            answer = try Self.members(of: try await ask(), hook)
            ledger.count(hook, .answered, took: .now - start)
        } catch let problem as HTTPProblem {
            ledger.count(hook, problem.code == .hookRefused ? .refused : .busy, took: .now - start)
            throw problem
        } catch let failure as HookFailure {
            await ledger.note(failure, of: hook, in: space, took: .now - start)
            throw HTTPProblem(
                .hookFailed, "The hook \"\(hook.name)\" could not be asked, or did not answer properly in time.", cause: failure.cause)
        }
    }

    private static func members(of answer: HookClient.Answer, _ hook: Hook) throws -> JSONValue {
        let isRefusal = (400..<500).contains(answer.status)
        guard isRefusal || (200..<300).contains(answer.status) else { throw HookFailure.status(answer.status) }
        let value = answer.body.readableBytes == 0 ? .object([]) : try? JSONValue(parsing: answer.body.readableBytesView)
        if let error = value?["error"], error != .null {
            throw HTTPProblem(.hookRefused, sentence(error), cause: "hook \(hook.name)")
        }
        if isRefusal { throw HTTPProblem(.hookRefused, cause: "hook \(hook.name): \(answer.status)") }
        guard case .object = value else { throw HookFailure.notUnderstood }
        return value ?? .object([])
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
