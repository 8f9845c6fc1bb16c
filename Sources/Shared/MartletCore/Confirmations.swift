/// Limits how often a service asks its database whether a refusal is right that it has decided by cached values.
///
/// Another copy of the service may just have allowed what the cached values refuse. The limit is per key, such as an
/// app's environment, so that a client that is always refused makes few queries. Beyond it, cached values decide.
public struct Confirmations<Key: Hashable & Sendable>: Sendable {
    public static var perSecond: Int { 20 }

    /// The start of the current second.
    private var start = ContinuousClock.now
    private var counts: [Key: Int] = [:]

    public init() {}

    /// Whether the database may be asked.
    public mutating func take(for key: Key, at now: ContinuousClock.Instant = .now) -> Bool {
        if now >= start + .seconds(1) { (start, counts) = (now, [:]) }
        guard counts[key, default: 0] < Self.perSecond else { return false }
        counts[key, default: 0] += 1
        return true
    }
}
