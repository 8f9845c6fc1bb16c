import Glibc

/// Monotonic time in nanoseconds. An integer, because the engine compares times for every query.
typealias Nanoseconds = Int64

func monotonicNow() -> Nanoseconds {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

extension Duration {
    /// Clamped to the range from 0 to about 100 years, so that sums do not overflow.
    var nanoseconds: Nanoseconds {
        let (seconds, attoseconds) = components
        return Int64(max(0, min(seconds, 3_000_000_000))) * 1_000_000_000 + max(0, attoseconds / 1_000_000_000)
    }
}
