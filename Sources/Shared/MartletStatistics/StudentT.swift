import Foundation

/// Student's t distribution, for any positive degrees of freedom; relative errors below 1e-12.
public struct StudentT: Sendable {
    public let degreesOfFreedom: Double

    public init(degreesOfFreedom: Double) { self.degreesOfFreedom = degreesOfFreedom }

    /// P(T ≤ t)
    public func cdf(_ t: Double) -> Double { survival(-t) }

    /// P(T > t) = ½ I_x(ν/2, ½) for t ≥ 0, where x = ν / (ν + t²) (Abramowitz & Stegun 26.7.1).
    public func survival(_ t: Double) -> Double {
        t < 0 ? 1 - survival(-t) : twoSided(t) / 2
    }

    /// P(|T| > t)
    public func twoSided(_ t: Double) -> Double {
        let ν = degreesOfFreedom, square = t * t
        guard square > 0 else { return t.isNaN ? .nan : 1 }
        guard square.isFinite else { return 0 }
        guard ν < 10_000 else { return 2 * Normal.survival(normalEquivalent(square)) }
        return regularizedBeta(
            x: ν / (ν + square), y: square / (ν + square), logX: -log1p(square / ν), logY: -log1p(ν / square), ν / 2,
            0.5)
    }

    /// The z with the same tail, by the expansion of Hill (1970, Algorithm 395) with an error of order ν⁻⁶. For these
    /// arguments the continued fraction is slow and loses digits.
    private func normalEquivalent(_ square: Double) -> Double {
        let a = degreesOfFreedom - 0.5, b = 48 * a * a
        let y = a * log1p(square / degreesOfFreedom)
        let third = (((-0.4 * y - 3.3) * y - 24) * y - 85.5) / (0.8 * y * y + 100 + b)
        return ((third + y + 3) / b + 1) * y.squareRoot()
    }

    func density(_ t: Double) -> Double {
        let ν = degreesOfFreedom
        return exp(-(ν + 1) / 2 * log1p(t * t / ν) - 0.5 * log(ν) - logBeta(ν / 2, 0.5))
    }

    /// The t with P(T ≤ t) = `probability`.
    ///
    /// - Returns: ∓infinity for 0 and 1; NaN outside 0…1.
    public func quantile(_ probability: Double) -> Double {
        guard probability > 0, probability < 1 else {
            return probability == 0 ? -.infinity : probability == 1 ? .infinity : .nan
        }
        guard probability != 0.5 else { return 0 }
        return probability < 0.5 ? -upperQuantile(probability) : upperQuantile(1 - probability)
    }

    /// Newton's method from the normal quantile, kept inside a bracket that shrinks with every step.
    private func upperQuantile(_ tail: Double) -> Double {
        var low = 0.0, high = max(1, Normal.upperQuantile(tail))
        while survival(high) > tail, high < 1e300 {
            low = high
            high *= 2
        }
        var t = min(max(Normal.upperQuantile(tail), low), high)
        for _ in 0..<100 {
            let excess = survival(t) - tail
            if excess > 0 { low = t } else { high = t }
            var next = t + excess / density(t)
            if !(next > low && next < high) { next = (low + high) / 2 }
            let step = next - t
            t = next
            if abs(step) <= 2e-16 * t { break }
        }
        return t
    }
}

/// ln B(a, b), without the cancellation that ln Γ(a) + ln Γ(b) − ln Γ(a + b) has for large numbers.
func logBeta(_ a: Double, _ b: Double) -> Double {
    let small = min(a, b), large = max(a, b), share = small / (small + large)
    guard large >= 10 else { return log(tgamma(small) * (tgamma(large) / tgamma(small + large))) }
    let rest = stirlingRest(large) - stirlingRest(small + large)
    guard small >= 10 else {
        return logGamma(small) + rest + small - small * log(small + large) + (large - 0.5) * log1p(-share)
    }
    return -0.5 * log(large) + 0.5 * log(2 * .pi) + stirlingRest(small) + rest + (small - 0.5) * log(share) + large
        * log1p(-share)
}

/// I_x(a, b), by the continued fraction of the Digital Library of Mathematical Functions 8.17.22.
///
/// - Parameter y: 1 − x. Both values and their logarithms are passed so that none of them loses digits.
func regularizedBeta(x: Double, y: Double, logX: Double, logY: Double, _ a: Double, _ b: Double) -> Double {
    guard x <= (a + 1) / (a + b + 2) else { return 1 - regularizedBeta(x: y, y: x, logX: logY, logY: logX, b, a) }
    let factor = exp(a * logX + b * logY - logBeta(a, b)) / a
    let fraction = continuedFraction(first: 1) { i in
        let m = Double(i / 2)
        let coefficient =
            i.isMultiple(of: 2)
            ? m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
            : -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        return (coefficient, 1)
    }
    return factor / fraction
}
