/// Sums of a value over the units of one variation, sufficient for a test.
public struct Sums: Sendable, Equatable {
    /// The number of units, not of events.
    public var count: Int
    public var sum: Double
    /// Nil if each unit's value is 0 or 1.
    public var sumOfSquares: Double?

    public init(count: Int, sum: Double, sumOfSquares: Double? = nil) {
        self.count = count
        self.sum = sum
        self.sumOfSquares = sumOfSquares
    }

    /// 0 if there are no units.
    public var mean: Double { count == 0 ? 0 : sum / Double(count) }

    /// p(1 − p) for a proportion, otherwise the sample variance with Bessel's correction; 0 for a single unit.
    public var variance: Double {
        guard let sumOfSquares else { return mean * (1 - mean) }
        guard count > 1 else { return 0 }
        return (sumOfSquares - sum * sum / Double(count)) / Double(count - 1)
    }

    static func + (a: Sums, b: Sums) -> Sums {
        let squares = a.sumOfSquares.flatMap { a in b.sumOfSquares.map { a + $0 } }
        return Sums(count: a.count + b.count, sum: a.sum + b.sum, sumOfSquares: squares)
    }
}

/// The sums of two values of the same units and of their products.
public struct PairedSums: Sendable, Equatable {
    public var first: Sums
    public var second: Sums
    public var sumOfProducts: Double

    public init(_ first: Sums, _ second: Sums, sumOfProducts: Double) {
        self.first = first
        self.second = second
        self.sumOfProducts = sumOfProducts
    }

    /// The covariance of the two values, with Bessel's correction.
    public var covariance: Double {
        let count = Double(first.count)
        return count > 1 ? (sumOfProducts - first.sum * second.sum / count) / (count - 1) : 0
    }

    static func + (a: PairedSums, b: PairedSums) -> PairedSums {
        PairedSums(a.first + b.first, a.second + b.second, sumOfProducts: a.sumOfProducts + b.sumOfProducts)
    }
}
