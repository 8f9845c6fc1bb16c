import Crypto
public import Foundation
public import MartletCore
import MartletHTTP

/// How hooks are called, and the limits they have.
public struct HookSettings: Sendable {
    let secrets: HookSecrets
    /// Whether hooks may be at private, loopback and link-local addresses, and speak plain HTTP: for servers of one's
    /// own network.
    public var arePrivateAddressesAllowed = false
    /// Calls under way at a time, on this copy of the service and of one space.
    public var maximumCalls = 512
    public var maximumCallsPerSpace = 64
    /// What the hooks of one write or batch may take together: less than the gateway waits.
    public var totalTime: Duration = .seconds(20)
    /// Before the second attempt; each further one waits four times as long, `maximumPause` at most.
    public var firstPause: Duration = .seconds(5)
    public var maximumPause: Duration = .seconds(6 * 3_600)
    public var maximumAttempts = 12
    /// How often to look for deliveries that are due.
    public var pollInterval: Duration = .seconds(5)
    public var now: @Sendable () -> Date = { Date() }
    /// For tests: plain HTTP to the public internet, and what names stand for.
    var isPlainHTTPAllowed = false
    var lookUp: @Sendable (String) async -> [[UInt8]] = { await NameLookup.addresses(of: $0) }

    /// - Parameter secret: at least 32 characters; hooks' secrets are derived from it.
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

    /// How long to wait after the attempt `number`, counted from 1.
    func pause(after number: Int) -> Duration {
        let exponential = firstPause * Int(1 << (2 * min(max(number - 1, 0), 15)))
        return min(exponential, maximumPause) * Double.random(in: 0.8...1.2)
    }
}
