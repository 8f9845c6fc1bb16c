import MartletStatistics
import Testing

@Suite struct EffectTests {
    @Test func `The report of an effect that cannot be tested says why`() {
        let some = Estimate(Sums(count: 100, sum: 20)), none = Estimate(Sums(count: 0, sum: 0))
        let flat = Estimate(Sums(count: 100, sum: 100)), zero = Estimate(Sums(count: 100, sum: 0, sumOfSquares: 50))
        #expect(throws: Effect.Obstacle.tooFewUnits) { try Effect(control: none, treatment: some, .absolute) }
        #expect(throws: Effect.Obstacle.tooFewUnits) { try Effect(control: some, treatment: none, .absolute) }
        #expect(throws: Effect.Obstacle.noVariance) { try Effect(control: some, treatment: flat, .absolute) }
        #expect(throws: Effect.Obstacle.zeroBaseline) { try Effect(control: zero, treatment: some, .relative) }
        #expect(throws: Never.self) { try Effect(control: zero, treatment: some, .absolute) }
    }

    /// The table from R's documentation of p.adjust and from Holm's paper, computed by hand.
    @Test(
        arguments: [
            ([0.01, 0.02, 0.03, 0.04, 0.05], [0.05, 0.08, 0.09, 0.09, 0.09]),
            ([0.04, 0.001, 0.03], [0.06, 0.003, 0.06]), ([0.9, 0.8], [1, 1]),
            ([0.2], [0.2]), ([], []),
        ] as [([Double], [Double])])
    func `Holm's correction gives the expected p-values`(p: [Double], adjusted: [Double]) {
        #expect(zip(holm(p), adjusted).allSatisfy { close($0, $1) } && holm(p).count == p.count)
    }

    @Test func `Ratios of untestable samples have p = 1`() {
        #expect(sampleRatioP(counts: [0, 0], weights: [1, 1]) == 1)
        #expect(sampleRatioP(counts: [7], weights: [1]) == 1)
        #expect(sampleRatioP(counts: [1_000, 1_000], weights: [1, 1]) == 1)
    }

    @Test func `A covariate without variance adjusts nothing`() {
        let sums = { (count: Int, sum: Double) in
            PairedSums(Sums(count: count, sum: sum), Sums(count: count, sum: 0), sumOfProducts: 0)
        }
        let adjustment = Adjustment(control: sums(100, 20), treatment: sums(100, 30))
        #expect(adjustment.theta == 0 && adjustment.varianceReduction == 0)
        #expect(adjustment.control == Estimate(Sums(count: 100, sum: 20)))
    }

    @Test func `A covariate that equals the outcome removes nearly all variance`() {
        let value = Sums(count: 1_000, sum: 5_000, sumOfSquares: 35_000)
        let sums = PairedSums(value, value, sumOfProducts: 35_000)
        let adjustment = Adjustment(control: sums, treatment: sums)
        #expect(close(adjustment.theta, 1) && close(adjustment.varianceReduction, 1))
    }

    @Test func `A zero effect cannot be found by any number of units`() {
        #expect(SampleSize().units(toFind: 0, controlVariance: 1, treatmentVariance: 1) == nil)
        // Lehr's rule of thumb: 16 σ²/δ² in each variation.
        let units = SampleSize().units(toFind: 0.5, controlVariance: 4, treatmentVariance: 4) ?? 0
        #expect(close(Double(units), 2 * 16 * 4 / 0.25, relative: 0.03))
    }
}
