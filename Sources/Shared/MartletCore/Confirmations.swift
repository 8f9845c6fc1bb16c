/// Limits how often a service queries its database before it refuses a call because of cached values.
///
/// Another copy of the service may just have allowed the call. The limit is per key, such as an environment of an app,
/// so that a client that is always refused causes few queries. Beyond the limit, the cached values decide.
public struct Confirmations<Key: Hashable & Sendable>: Sendable {
    public static var perSecond: Int { 20 }

    /// The start of the current second.
    private var start = ContinuousClock.now
    private var counts: [Key: Int] = [:]

    public init() {}

    /// Whether the database may be queried; counts the query if so.
    public mutating func take(for key: Key, at now: ContinuousClock.Instant = .now) -> Bool {
        if now >= start + .seconds(1) { (start, counts) = (now, [:]) }
        guard counts[key, default: 0] < Self.perSecond else { return false }
        counts[key, default: 0] += 1
        return true
    }
}
