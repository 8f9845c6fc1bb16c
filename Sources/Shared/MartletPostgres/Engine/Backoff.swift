/// Delays between connection attempts: doubling from 50 ms to 5 s, each reduced at random by up to half, so that
/// clients do not reconnect simultaneously.
struct Backoff {
    private(set) var failures = 0

    mutating func succeed() { failures = 0 }

    /// Records a failure and returns the nanoseconds to wait. `random` ranges from 0 to 1.
    mutating func fail(random: Double) -> Int64 {
        failures += 1
        let full = min(5_000_000_000, 50_000_000 * pow2(failures - 1))
        return Int64(full * (1 - random / 2))
    }

    private func pow2(_ exponent: Int) -> Double { Double(1 << min(exponent, 20)) }
}
