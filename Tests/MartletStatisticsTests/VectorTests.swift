import Foundation
import MartletStatistics
import Testing

/// Compares with the output of gbstats 0.8.0, which is stored with the public test vectors.
@Suite struct VectorTests {
    private struct Printed: Decodable {
        var expected: Double
        var ci: [Double]
        var uplift: Uplift
        var p_value: Double?
        var chance_to_win: Double?
        var risk: [Double]?
    }

    private struct Uplift: Decodable {
        var stddev: Double
    }

    private static let path =
        (ProcessInfo.processInfo.environment["MARTLET_VECTORS"] ?? "../shared/vectors")
        + "/stats/gbstats-0.8.0-sample.txt"
    private static let means = (
        Sums(count: 1_000, sum: 5_000, sumOfSquares: 35_000), Sums(count: 1_100, sum: 5_940, sumOfSquares: 43_000)
    )
    private static let proportions = (Sums(count: 4_000, sum: 200), Sums(count: 4_100, sum: 246))

    @Test(.enabled(if: FileManager.default.fileExists(atPath: path)))
    func `The published results of the confidence sequence are reproduced`() throws {
        let lines = try String(contentsOfFile: Self.path, encoding: .utf8).split(separator: "\n")
        var count = 0
        for line in lines {
            guard let brace = line.firstIndex(of: "{") else { continue }
            let words = line[..<brace].split(separator: " ")
            guard ["freq", "seq", "bayes"].contains(words[0]) else { continue }
            try Self.check(words, try JSONDecoder().decode(Printed.self, from: Data(line[brace...].utf8)))
            count += 1
        }
        #expect(count == 16)
        let ratios = try #require(lines.first { $0.hasPrefix("srm ") }).split(separator: " ").compactMap { Double($0) }
        #expect(close(sampleRatioP(counts: [1_000, 1_100], weights: [0.5, 0.5]), ratios[0]))
        #expect(close(sampleRatioP(counts: [500, 500, 400], weights: [1, 1, 1]), ratios[1]))
    }

    private static func check(_ words: [Substring], _ printed: Printed) throws {
        let (control, treatment) = words[1] == "mean" ? means : proportions
        let effect = try Effect(
            control: Estimate(control), treatment: Estimate(treatment), words[2] == "relative" ? .relative : .absolute)
        if words[0] == "bayes" {
            let prior = Prior(standardDeviation: 0.3)
            let scaled = words[2] == "relative" ? prior : prior.absolute(baseline: control.mean)
            let posterior = Posterior(effect, prior: words[3] == "improper" ? nil : scaled)
            #expect(
                close(posterior.mean, printed.expected) && close(posterior.standardDeviation, printed.uplift.stddev),
                "\(words)")
            #expect(close(posterior.credibleInterval(), printed.ci), "\(words)")
            let chance = try #require(printed.chance_to_win), risk = try #require(printed.risk)
            #expect(close(posterior.chanceToWin, chance), "\(words)")
            #expect(
                close(posterior.riskOfControl, risk[0]) && close(posterior.riskOfTreatment, risk[1], absolute: 1e-16),
                "\(words)")
        } else {
            let p = try #require(printed.p_value)
            let result = words[0] == "freq" ? effect.fixedHorizon() : effect.sequential()
            #expect(
                close(effect.value, printed.expected) && close(effect.standardError, printed.uplift.stddev), "\(words)")
            #expect(close(result.interval, printed.ci) && close(result.p, p), "\(words)")
        }
    }
}
