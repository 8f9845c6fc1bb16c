import Crypto
public import MartletFlagValues

extension FlagHash {
    /// The position for Firebase's percent conditions, 0 to 99,999,999 millionths of a percent: the SHA-256 of
    /// `seed.value` as one big number, modulo 10^8.
    public static func microPercent(of value: String, seed: String) -> Int {
        var hash = SHA256()
        if !seed.isEmpty { hash.update(data: Array((seed + ".").utf8)) }
        hash.update(data: Array(value.utf8))
        return hash.finalize().reduce(0) { ($0 << 8 | Int($1)) % 100_000_000 }
    }
}
