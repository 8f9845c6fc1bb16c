import FoundationEssentials

/// Microseconds since 2000-01-01 00:00 UTC, the binary form of `timestamp` and `timestamptz`.
struct PostgresTimestamp {
    let microseconds: Int64

    private static let infinity = Int64.max
    private static let minusInfinity = Int64.min
    /// 2000-01-01, relative to Foundation's reference date 2001-01-01.
    private static let epoch: Double = -31_622_400

    init(microseconds: Int64) { self.microseconds = microseconds }

    /// Dates from `.distantFuture` on become `infinity`; dates up to `.distantPast` and invalid dates become
    /// `-infinity`.
    init(_ date: Date) {
        if date >= .distantFuture {
            microseconds = Self.infinity
        } else if date > .distantPast {
            microseconds = Int64(((date.timeIntervalSinceReferenceDate - Self.epoch) * 1_000_000).rounded())
        } else {
            microseconds = Self.minusInfinity
        }
    }

    var date: Date {
        switch microseconds {
        case Self.infinity: .distantFuture
        case Self.minusInfinity: .distantPast
        default: Date(timeIntervalSinceReferenceDate: Double(microseconds) / 1_000_000 + Self.epoch)
        }
    }
}
