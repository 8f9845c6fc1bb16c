import Foundation

/// The standard normal distribution; relative errors about 1e-15, even far out in the tails.
public enum Normal {
    /// P(Z ≤ z)
    public static func cdf(_ z: Double) -> Double { 0.5 * erfc(-z / 2.0.squareRoot()) }

    /// P(Z > z)
    public static func survival(_ z: Double) -> Double { cdf(-z) }

    public static func density(_ z: Double) -> Double { exp(-z * z / 2) / (2 * Double.pi).squareRoot() }

    /// The z with P(Z ≤ z) = `probability`.
    ///
    /// Starts from the rational approximation of Abramowitz & Stegun 26.2.23 (error 4.5e-4) and applies Halley's method
    /// until it converges.
    ///
    /// - Returns: ∓infinity for 0 and 1; NaN outside 0…1.
    public static func quantile(_ probability: Double) -> Double {
        guard probability > 0, probability < 1 else {
            return probability == 0 ? -.infinity : probability == 1 ? .infinity : .nan
        }
        guard probability != 0.5 else { return 0 }
        // In the upper half, 1 − p is exact and keeps the digits of the tail.
        return probability < 0.5 ? -upperQuantile(probability) : upperQuantile(1 - probability)
    }

    /// The z ≥ 0 with P(Z > z) = `tail`, which is at most ½.
    static func upperQuantile(_ tail: Double) -> Double {
        let t = (-2 * log(tail)).squareRoot()
        let numerator = 2.515517 + t * (0.802853 + t * 0.010328)
        let denominator = 1 + t * (1.432788 + t * (0.189269 + t * 0.001308))
        var z = t - numerator / denominator
        for _ in 0..<6 {
            let newton = (survival(z) - tail) / density(z)
            let step = newton / (1 - newton * z / 2)
            z += step
            if abs(step) <= 1e-16 * abs(z) { break }
        }
        return z
    }
}
