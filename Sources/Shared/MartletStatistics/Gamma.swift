import Foundation

/// ln Γ(x) for x > 0; absolute error about 1e-15 · max(1, |ln Γ(x)|).
func logGamma(_ x: Double) -> Double {
    guard x >= 10 else { return log(tgamma(x)) }
    return (x - 0.5) * log(x) - x + 0.5 * log(2 * .pi) + stirlingRest(x)
}

/// The difference between ln Γ(x) and Stirling's formula, for x ≥ 10 (Abramowitz & Stegun 6.1.41).
func stirlingRest(_ x: Double) -> Double {
    let divisors: [Double] = [12, -360, 1_260, -1_680, 1_188, -360_360.0 / 691, 156]
    let square = 1 / (x * x)
    return divisors.reversed().reduce(0) { sum, divisor in sum * square + 1 / divisor } / x
}

/// The chi-squared distribution.
public struct ChiSquared: Sendable {
    public let degreesOfFreedom: Double

    public init(degreesOfFreedom: Double) { self.degreesOfFreedom = degreesOfFreedom }

    /// P(X > x)
    public func survival(_ x: Double) -> Double {
        guard x > 0 else { return 1 }
        return regularizedUpperGamma(degreesOfFreedom / 2, x / 2)
    }
}

/// Q(a, x) = Γ(a, x) / Γ(a), by the series or the continued fraction of Abramowitz & Stegun 6.5.29 and 6.5.31,
/// whichever converges.
func regularizedUpperGamma(_ a: Double, _ x: Double) -> Double {
    guard x.isFinite else { return 0 }
    let factor = exp(a * log(x) - x - logGamma(a))
    guard x >= a + 1 else {
        var term = 1 / a, sum = term, n = a
        while term > sum * 1e-17 {
            n += 1
            term *= x / n
            sum += term
        }
        return 1 - factor * sum
    }
    let fraction = continuedFraction(first: x + 1 - a) { i in
        let i = Double(i)
        return (-i * (i - a), x + 2 * i + 1 - a)
    }
    return factor / fraction
}

/// b₀ + a₁/(b₁ + a₂/(b₂ + …)) by Lentz's method as modified by Thompson and Barnett (1986).
///
/// - Parameter term: (aᵢ, bᵢ) for i = 1, 2, …
func continuedFraction(first: Double, maximumTerms: Int = 100_000, term: (Int) -> (Double, Double)) -> Double {
    let tiny = 1e-300
    var value = first == 0 ? tiny : first
    var c = value, d = 0.0
    for i in 1...maximumTerms {
        let (a, b) = term(i)
        d = b + a * d
        if d == 0 { d = tiny }
        d = 1 / d
        c = b + a / c
        if c == 0 { c = tiny }
        let change = c * d
        value *= change
        if abs(change - 1) <= 1e-16 { break }
    }
    return value
}
