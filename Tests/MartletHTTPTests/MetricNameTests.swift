import CoreMetrics
import Foundation
import MartletTesting
import Testing

@testable import MartletHTTP

/// Compares the metrics in the sources, their help on `/metrics`, and docs/OPERATIONS.md.
@Suite struct MetricNameTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The names under which the metrics in the sources appear on `/metrics`.
    private static func exposedNames() throws -> Set<String> {
        let registry = MetricsRegistry()
        for match in try SourceSearch().matches(of: #"\b\w+\(\s*label: "[^"]+(?=")"#, in: ["Sources"]) {
            let label = String(match.text.split(separator: "\"")[1])
            switch match.text.prefix(while: { $0 != "(" }) {
            case "Counter": registry.makeCounter(label: label, dimensions: []).increment(by: 1)
            case "FloatingPointCounter":
                registry.makeFloatingPointCounter(label: label, dimensions: []).increment(by: 0.5)
            case "Timer": registry.makeTimer(label: label, dimensions: []).recordNanoseconds(1)
            case "Gauge", "Meter": registry.makeMeter(label: label, dimensions: []).set(1.5)
            case "Recorder": registry.makeRecorder(label: label, dimensions: [], aggregate: true).record(Int64(1))
            default: break
            }
        }
        return Set(registry.text().matches(of: /(?m)^# TYPE (\S+)/).map { String($0.1) })
    }

    @Test func `every metric has a help text, and every help text a metric`() throws {
        let names = try Self.exposedNames()
        #expect(names.count > 25)
        #expect(names.symmetricDifference(MetricHelp.sentences.keys).sorted() == [])
        for (name, help) in MetricHelp.sentences {
            #expect(help.hasSuffix(".") && !help.contains("\n") && !help.contains("\\"), "\(name)")
        }
    }

    @Test func `docs/OPERATIONS.md names every metric, and no other`() throws {
        let page = try String(contentsOf: Self.root.appending(path: "docs/OPERATIONS.md"), encoding: .utf8)
        let known = try Self.exposedNames()
        let rows = page.matches(of: /(?m)^\|\s*(`[a-z_`, ]+`(?: \(histogram\))?)\s*\|/).flatMap {
            $0.1.matches(of: /`([a-z_]+)`/)
        }.map { String($0.1) }
        let table = Set(rows.filter { name in ["martlet_", "postgres_", "process_"].contains { name.hasPrefix($0) } })
        #expect(known.subtracting(table).sorted() == [], "not in the table")
        // Metrics named anywhere in the text, with or without labels.
        let named = page.matches(
            of: /\b(?:martlet|postgres|process)_[a-z_]+(?:_total|_seconds|_bytes|_fds|_waiting|_stuck)\b/
        ).map { String($0.0) }
        #expect(named.count > 10)
        #expect(Set(named).union(table).subtracting(known).sorted() == [], "in the document only")
    }

    @Test(.enabled(if: Promtool.path != nil)) func `promtool accepts every metric`()
        async throws
    {
        let registry = MetricsRegistry()
        // The registry adds its own metrics.
        for name in try Self.exposedNames() where name != "martlet_metrics_refused_total" {
            if name.hasSuffix("_total") {
                registry.makeCounter(label: name, dimensions: [("status", "2xx")]).increment(by: 1)
            } else if name.hasSuffix("_seconds") {
                registry.makeTimer(label: name, dimensions: [("event", "a\"b")]).recordNanoseconds(1_000_000)
            } else {
                registry.makeMeter(label: name, dimensions: []).set(1.5)
            }
        }
        let complaints = try Promtool.complaints(about: registry.text())
        #expect(complaints.isEmpty, "\(complaints)")
    }

    @Test func `CPU time is a counter of seconds`() throws {
        let registry = MetricsRegistry()
        let counter = registry.makeFloatingPointCounter(label: "process.cpu_seconds_total", dimensions: [])
        counter.increment(by: 0.25)
        counter.increment(by: 0.5)
        let text = registry.text()
        #expect(text.contains("# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 0.75\n"))
        #expect(text.contains("# HELP process_cpu_seconds_total "))
    }
}

/// Prometheus's own checker.
enum Promtool {
    static let path: String? = {
        let environment = ProcessInfo.processInfo.environment
        let places =
            [environment["MARTLET_PROMTOOL"] ?? ""]
            + (environment["PATH"] ?? "").split(separator: ":").map { $0 + "/promtool" } + ["/usr/bin/promtool"]
        return places.first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    /// The output of `promtool check metrics`; empty if everything is in order.
    static func complaints(about text: String) throws -> String {
        let (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: path ?? "")
        process.arguments = ["check", "metrics"]
        (process.standardInput, process.standardOutput, process.standardError) = (input, output, output)
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try input.fileHandleForWriting.close()
        let report = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return process.terminationStatus == 0 && report.isEmpty ? "" : "status \(process.terminationStatus): \(report)"
    }
}
