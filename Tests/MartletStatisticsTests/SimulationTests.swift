import MartletStatistics
import Testing

/// The guarantees of the tests, measured in simulated experiments, which are the same in every run.
@Suite struct SimulationTests {
    private struct Arm {
        var sums = Sums(count: 0, sum: 0)

        /// Adds units of which about a quarter convert.
        mutating func grow(words: Int, _ generator: inout SeededGenerator) {
            for _ in 0..<words { sums.sum += Double((generator.next() & generator.next()).nonzeroBitCount) }
            sums.count += words * 64
        }
    }

    @Test
    func
        `Looking fifty times at a zero effect raises a false alarm in at most 5 % of sequential tests, and in many more of the others`()
        throws
    {
        var generator = SeededGenerator(state: 20_261_122)
        var alarms = (sequential: 0, relative: 0, fixed: 0), end = 0
        let runs = 2_000
        for _ in 0..<runs {
            var a = Arm(), b = Arm(), seen = (sequential: false, relative: false, fixed: false)
            for look in 1...50 {
                a.grow(words: 2, &generator)
                b.grow(words: 2, &generator)
                let effect = try Effect(control: Estimate(a.sums), treatment: Estimate(b.sums), .absolute)
                let relative = try Effect(control: Estimate(a.sums), treatment: Estimate(b.sums), .relative)
                seen.sequential = seen.sequential || effect.sequential().p <= 0.05
                seen.relative = seen.relative || relative.sequential().p <= 0.05
                // The normal quantile replaces that of t, because there are at least 128 units.
                let isAlarm = abs(effect.value) > 1.96 * effect.standardError
                seen.fixed = seen.fixed || isAlarm
                if look == 50, isAlarm { end += 1 }
            }
            alarms.sequential += seen.sequential ? 1 : 0
            alarms.relative += seen.relative ? 1 : 0
            alarms.fixed += seen.fixed ? 1 : 0
        }
        #expect(Double(alarms.sequential) / Double(runs) <= 0.05, "\(alarms)")
        #expect(Double(alarms.relative) / Double(runs) <= 0.05, "\(alarms)")
        #expect(Double(alarms.fixed) / Double(runs) > 0.2, "\(alarms)")
        // With a single look at the end: 5 %, plus or minus three standard errors.
        #expect((0.035...0.065).contains(Double(end) / Double(runs)), "\(end)")
    }

    /// A quarter converts in the control, and 3/8 with the treatment.
    @Test func `The planned number of units finds the effect as often as promised`() throws {
        let variances = (0.25 * 0.75, 0.375 * 0.625)
        let units = try #require(
            SampleSize().units(toFind: 0.125, controlVariance: variances.0, treatmentVariance: variances.1))
        let words = Int((Double(units) / 128).rounded())
        var generator = SeededGenerator(state: 7), found = 0
        for _ in 0..<2_000 {
            var control = Arm(), treatment = Sums(count: words * 64, sum: 0)
            control.grow(words: words, &generator)
            for _ in 0..<words {
                treatment.sum += Double((generator.next() & (generator.next() | generator.next())).nonzeroBitCount)
            }
            if try Effect(control: Estimate(control.sums), treatment: Estimate(treatment), .absolute).fixedHorizon().p
                <= 0.05
            {
                found += 1
            }
        }
        let power = SampleSize(power: 0.8)
        let error = (variances.0 / Double(words * 64) + variances.1 / Double(words * 64)).squareRoot()
        // Whole words of 64 units are slightly more or fewer than requested.
        let expected = Normal.cdf(0.125 / error - Normal.quantile(1 - power.alpha / 2))
        #expect(abs(Double(found) / 2_000 - expected) < 0.03, "\(found), \(units)")
    }
}
