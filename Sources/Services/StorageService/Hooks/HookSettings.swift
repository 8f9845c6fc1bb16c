import Crypto
public import Foundation
public import MartletCore
import MartletHTTP

/// Settings and limits for calls of hooks.
public struct HookSettings: Sendable {
    let secrets: HookSecrets
    /// Whether hooks may have private, loopback and link-local addresses and use plain HTTP, for servers in the
    /// operator's own network.
    public var arePrivateAddressesAllowed = false
    /// The maximum number of concurrent calls by this copy of the service.
    public var maximumCalls = 512
    /// The maximum number of concurrent calls by this copy of the service for one space.
    public var maximumCallsPerSpace = 64
    /// The maximum total duration of the hooks of one write or batch; shorter than the gateway's timeout.
    public var totalTime: Duration = .seconds(20)
    /// The pause before the second attempt. Each further pause is four times as long, up to `maximumPause`.
    public var firstPause: Duration = .seconds(5)
    public var maximumPause: Duration = .seconds(6 * 3_600)
    public var maximumAttempts = 12
    /// How often to check for due deliveries.
    public var pollInterval: Duration = .seconds(5)
    public var now: @Sendable () -> Date = { Date() }
    /// For tests: allows plain HTTP to the public internet, and replaces name resolution.
    var isPlainHTTPAllowed = false
    var lookUp: @Sendable (String) async -> [[UInt8]] = { await NameLookup.addresses(of: $0) }

    /// - Parameter secret: At least 32 characters; the hooks' secrets are derived from it.
    public init(secret: Secret) {
        secrets = HookSecrets(internalSecret: secret)
    }

    /// Reads `internal.secret` and `hooks.private.allowed`.
    ///
    /// - Throws: `SettingsError`.
    init(_ settings: Settings) throws {
        self.init(secret: try settings.requiredSecret("internal.secret", minimumLength: 32))
        arePrivateAddressesAllowed = try settings.flag("hooks.private.allowed", default: false)
    }

    /// The pause after an attempt; `number` starts at 1.
    func pause(after number: Int) -> Duration {
        let exponential = firstPause * Int(1 << (2 * min(max(number - 1, 0), 15)))
        return min(exponential, maximumPause) * Double.random(in: 0.8...1.2)
    }

    /// The pause after an attempt, at least as long as the receiver requests; nil after the last attempt.
    func pause(after number: Int, _ outcome: WebhookOutcome) -> Duration? {
        guard number < maximumAttempts else { return nil }
        return max(pause(after: number), min(outcome.retryAfter ?? .zero, maximumPause))
    }
}
