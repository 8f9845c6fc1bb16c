import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore
import Synchronization

/// Calls hooks, with a limit on the number of concurrent calls.
final class HookClient: Sendable {
    static let maximumAnswerSizeInBytes = 1 << 20

    private let settings: HookSettings
    private let sender: WebhookSender
    /// The number of calls in progress: by space, and of all spaces under nil.
    private let callsInProgress = Mutex<[AppSchema?: Int]>([:])

    init(settings: HookSettings) {
        self.settings = settings
        sender = WebhookSender(
            arePrivateAddressesAllowed: settings.arePrivateAddressesAllowed,
            isPlainHTTPAllowed: settings.isPlainHTTPAllowed,
            lookUp: settings.lookUp, connectionsPerHost: 64, now: settings.now)
    }

    /// Too many calls are in progress.
    struct Busy: Error {}

    /// - Throws: `invalid-body` naming the field, if requests to the address are not allowed.
    func check(_ url: String) async throws {
        try await sender.check(url, field: "url")
    }

    /// Posts `body`, signed, within the hook's time limit.
    ///
    /// - Parameter id: The same for every attempt to deliver the same message, so that receivers can drop duplicates.
    /// - Throws: `CancellationError`. All other failures are part of the outcome.
    func send(_ body: ByteBuffer, id: String, to hook: Hook, in space: AppSchema, within limit: Duration? = nil)
        async throws -> WebhookOutcome
    {
        try await sender.send(
            body, id: id, to: hook.url, signedBy: settings.secrets.secrets(of: hook, in: space),
            within: min(hook.timeout, limit ?? hook.timeout), upTo: Self.maximumAnswerSizeInBytes)
    }

    /// As `send`, for a request that waits for the answer; the number of these calls is limited.
    ///
    /// - Throws: `Busy`; `CancellationError`.
    func call(_ body: ByteBuffer, _ hook: Hook, in space: AppSchema, within limit: Duration? = nil) async throws
        -> WebhookOutcome
    {
        let isBusy = callsInProgress.withLock { counts in
            let (all, own) = (counts[nil, default: 0], counts[space, default: 0])
            guard all < settings.maximumCalls, own < settings.maximumCallsPerSpace else { return true }
            counts[nil] = all + 1
            counts[space] = own + 1
            return false
        }
        guard !isBusy else { throw Busy() }
        defer {
            callsInProgress.withLock { counts in
                for key in [nil, space] { counts[key] = counts[key].flatMap { $0 > 1 ? $0 - 1 : nil } }
            }
        }
        return try await RequestUsage.waiting {
            try await send(body, id: UUIDv7.make(), to: hook, in: space, within: limit)
        }
    }
}
