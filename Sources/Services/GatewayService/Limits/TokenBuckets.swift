import MartletAPI
import NIOCore
import Synchronization

/// An end user of an app and environment.
struct AppUser: Hashable, Sendable {
    let app: String
    let environment: AppEnvironment
    let user: String
}

/// Token buckets by name, shared by all event loops.
///
/// Sixteen locks reduce contention between event loops. At most `maximumCount` names are kept. When the table is full,
/// buckets that have refilled are dropped; if none has, a new name is let through uncounted.
final class TokenBuckets<Name: Hashable & Sendable>: Sendable {
    private struct Bucket {
        var tokens: Double
        var time: NIODeadline
    }

    private final class Shard: Sendable {
        let buckets = Mutex<[Name: Bucket]>([:])
    }

    private static var shardCount: Int { 16 }

    /// Whether requests from the gateway's own machine are not counted.
    let exemptsLoopback: Bool
    private let rate: Double
    private let burst: Double
    private let maximumCountPerShard: Int
    private let shards: [Shard]

    init(_ limit: GatewayConfiguration.RateLimit, maximumCount: Int = 100_000) {
        exemptsLoopback = limit.exemptsLoopback
        rate = max(limit.requestsPerSecond, 0.001)
        burst = max(limit.burst, 1)
        maximumCountPerShard = max(1, maximumCount / Self.shardCount)
        shards = (0..<Self.shardCount).map { _ in Shard() }
    }

    /// Takes a token.
    /// - Returns: Nil if a token was taken, otherwise the seconds until the next one is available (at least 1).
    func take(_ name: Name, at now: NIODeadline) -> Int? {
        shards[abs(name.hashValue % Self.shardCount)].buckets.withLock { buckets in
            var bucket = buckets[name] ?? Bucket(tokens: burst, time: now)
            bucket.tokens = tokens(bucket, at: now)
            bucket.time = max(now, bucket.time)
            guard bucket.tokens >= 1 else { return max(1, Int(((1 - bucket.tokens) / rate).rounded(.up))) }
            bucket.tokens -= 1
            if buckets.count >= maximumCountPerShard, buckets[name] == nil {
                buckets = buckets.filter { tokens($0.value, at: now) < burst }
                guard buckets.count < maximumCountPerShard else { return nil }
            }
            buckets[name] = bucket
            return nil
        }
    }

    /// Returns a token that was just taken, for a request that turned out not to count.
    func giveBack(_ name: Name) {
        shards[abs(name.hashValue % Self.shardCount)].buckets.withLock { buckets in
            guard let tokens = buckets[name]?.tokens else { return }
            buckets[name]?.tokens = min(burst, tokens + 1)
        }
    }

    private func tokens(_ bucket: Bucket, at now: NIODeadline) -> Double {
        let elapsed = max(0, Double((now - bucket.time).nanoseconds)) / 1e9
        return min(burst, bucket.tokens + elapsed * rate)
    }
}
