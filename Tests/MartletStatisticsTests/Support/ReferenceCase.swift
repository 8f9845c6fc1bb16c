import Foundation
import MartletStatistics
import MartletTesting

/// A line of gbstats_cases.py.
struct ReferenceCase: Decodable {
    struct Sample: Decodable {
        var first: Values
        var second: Values?
        var sumOfProducts: Double?

        var paired: PairedSums? {
            guard let second, let sumOfProducts else { return nil }
            return PairedSums(first.sums, second.sums, sumOfProducts: sumOfProducts)
        }
    }

    struct Values: Decodable {
        var count: Int
        var sum: Double
        var sumOfSquares: Double?

        var sums: Sums { Sums(count: count, sum: sum, sumOfSquares: sumOfSquares) }
    }

    var kind: String
    var samples: [Sample]?
    var scale: String?
    var alpha, tuning, theta, effect, error, p, exactP, sequentialP, chance: Double?
    var prior, interval, sequentialInterval, posterior, credible, risk: [Double]?

    var counts: [Int]?
    var weights: [Double]?

    var power, share, units: Double?
    var variances: [Double]?

    var probability, degreesOfFreedom, x, normalQuantile, normalCDF, tQuantile, tCDF: Double?

    /// Runs the script with the interpreter `python`, and reads its output.
    static func all(seed: Int, count: Int, python: String) async throws -> [ReferenceCase] {
        let bytes = try await onOwnThread {
            let process = Process(), output = Pipe()
            process.executableURL = URL(fileURLWithPath: python)
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "gbstats_cases.py")
            process.arguments = [script.path, String(seed), String(count)]
            (process.standardOutput, process.standardError) = (output, FileHandle.nullDevice)
            try process.run()
            let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            return bytes
        }
        return try bytes.split(separator: UInt8(ascii: "\n")).map {
            try JSONDecoder().decode(ReferenceCase.self, from: Data($0))
        }
    }
}
