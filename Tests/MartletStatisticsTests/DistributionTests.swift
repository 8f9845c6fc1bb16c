import MartletStatistics
import Testing

/// Values from published tables and closed forms, to 1e-12.
@Suite struct DistributionTests {
    @Test(arguments: [
        (0.975, 1.959963984540054), (0.995, 2.5758293035489004), (0.8, 0.8416212335729143), (0.5, 0),
        (0.025, -1.959963984540054),
        (1e-10, -6.361340902404056), (1e-300, -37.0471),
    ])
    func `Normal quantiles have the expected values`(probability: Double, quantile: Double) {
        #expect(close(Normal.quantile(probability), quantile, relative: probability < 1e-200 ? 1e-6 : 1e-13))
        #expect(probability < 1e-200 || close(Normal.cdf(quantile), probability, relative: 1e-12))
    }

    /// With 1 and 2 degrees of freedom t has a closed form: ½ − atan(t)/π, and ½ − t / (2√(2 + t²)).
    @Test(arguments: [0, 0.001, 0.5, 1, 1.7, 2, 12.706, 500])
    func `Student's t agrees with its closed form`(t: Double) {
        #expect(
            close(
                StudentT(degreesOfFreedom: 2).survival(t),
                1 / ((2 + t * t).squareRoot() * ((2 + t * t).squareRoot() + t)), relative: 1e-12))
        #expect(
            close(StudentT(degreesOfFreedom: 2).cdf(-t), StudentT(degreesOfFreedom: 2).survival(t), relative: 1e-15))
        let one = StudentT(degreesOfFreedom: 1)
        #expect(close(one.quantile(one.cdf(t)), t, absolute: 1e-15, relative: t > 100 ? 1e-9 : 1e-11))
    }

    /// The normal distribution is the limit, (z³ + z)/4ν away.
    @Test(arguments: [1e7, 1e8, 1e9, 1e12])
    func `Student's t with very many degrees of freedom agrees with the normal distribution`(degrees: Double) {
        let z = 1.959963984540054
        let expected = Normal.survival(z) + Normal.density(z) * (z * z * z + z) / (4 * degrees)
        #expect(close(StudentT(degreesOfFreedom: degrees).survival(z), expected, relative: 1e-12))
    }

    /// With 2 degrees of freedom: exp(−x/2); with 4: exp(−x/2)(1 + x/2).
    @Test(arguments: [0.01, 1, 3, 5, 20, 300])
    func `Chi-squared agrees with its closed form`(x: Double) {
        let two = ChiSquared(degreesOfFreedom: 2).survival(x)
        #expect(close(ChiSquared(degreesOfFreedom: 4).survival(x), two * (1 + x / 2), relative: 1e-12))
        #expect(
            close(ChiSquared(degreesOfFreedom: 1).survival(x), 2 * Normal.survival(x.squareRoot()), relative: 1e-12))
    }

    @Test func `An invalid probability has no quantile`() {
        #expect(
            Normal.quantile(0) == -.infinity && Normal.quantile(1) == .infinity && Normal.quantile(-0.1).isNaN
                && Normal.quantile(1.1).isNaN)
        let t = StudentT(degreesOfFreedom: 5)
        #expect(
            t.quantile(0) == -.infinity && t.quantile(1) == .infinity && t.quantile(.nan).isNaN
                && t.survival(.nan).isNaN)
        #expect(
            t.survival(.infinity) == 0 && t.survival(-.infinity) == 1
                && ChiSquared(degreesOfFreedom: 3).survival(.infinity) == 0)
    }
}
