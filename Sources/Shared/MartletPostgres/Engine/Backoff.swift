/// Waiting times between attempts to connect: doubling from 50 ms to 5 s, each shortened at random by up to a half so that many clients do
/// not return together.
struct Backoff {
    private(set) var failures = 0

    mutating func succeed() { failures = 0 }

    /// The nanoseconds to wait after one more failure. `random` is from 0 to 1.
    mutating func fail(random: Double) -> Int64 {
        failures += 1
        let full = min(5_000_000_000, 50_000_000 * pow2(failures - 1))
        return Int64(full * (1 - random / 2))
    }

    private func pow2(_ exponent: Int) -> Double { Double(1 << min(exponent, 20)) }
}
