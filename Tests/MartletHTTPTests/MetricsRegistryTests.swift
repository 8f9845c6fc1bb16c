import CoreMetrics
import Testing

@testable import MartletHTTP

@Suite struct MetricsRegistryTests {
    @Test func `counters, gauges and histograms are written in the text format, sorted`() {
        let registry = MetricsRegistry()
        let counter = registry.makeCounter(
            label: "martlet.http.requests", dimensions: [("method", "GET"), ("status", "200")])
        counter.increment(by: 2)
        registry.makeCounter(label: "martlet.http.requests", dimensions: [("method", "GET"), ("status", "404")])
            .increment(by: 1)
        registry.makeMeter(label: "a.gauge", dimensions: []).set(1.5)
        let lines = registry.text().split(separator: "\n").map(String.init)
        #expect(
            lines == [
                "# TYPE a_gauge gauge", "a_gauge 1.5",
                "# HELP martlet_http_requests_total Requests answered, by method and status.",
                "# TYPE martlet_http_requests_total counter",
                #"martlet_http_requests_total{method="GET",status="200"} 2"#,
                #"martlet_http_requests_total{method="GET",status="404"} 1"#,
                "# HELP martlet_metrics_refused_total Series not kept because there were too many.",
                "# TYPE martlet_metrics_refused_total counter",
                "martlet_metrics_refused_total 0",
            ])
    }

    @Test func `a timer is a histogram in seconds whose buckets are cumulative`() throws {
        let registry = MetricsRegistry()
        let timer = registry.makeTimer(label: "t", dimensions: [("x", "y")])
        for duration in [1_000, 3_000_000, 3_000_000, 3_600_000_000_000] as [Int64] {
            timer.recordNanoseconds(duration)
        }
        let lines = registry.text().split(separator: "\n").map(String.init)
        #expect(lines.first == "# TYPE t_seconds histogram")
        #expect(lines.contains(#"t_seconds_bucket{x="y",le="+Inf"} 4"#))
        #expect(lines.contains(#"t_seconds_count{x="y"} 4"#))
        #expect(lines.contains { $0.hasPrefix(#"t_seconds_sum{x="y"} 3600.006"#) })
        let buckets = lines.filter { $0.hasPrefix("t_seconds_bucket") }.compactMap {
            $0.split(separator: " ").last.flatMap { Int($0) }
        }
        #expect(buckets == buckets.sorted())
        #expect(buckets.contains(3) && buckets.count > 5)
    }

    @Test(arguments: [
        (#"a"b"#, #"a\"b"#), (#"a\b"#, #"a\\b"#), ("a\nb", #"a\nb"#), ("a\r\nb", "a\r\\nb"), ("ü{}=,", "ü{}=,"),
    ])
    func `a label's value is escaped`(_ value: String, _ escaped: String) {
        let registry = MetricsRegistry()
        registry.makeCounter(label: "c", dimensions: [("l", value)]).increment(by: 1)
        let lines = registry.text().utf8.split(separator: UInt8(ascii: "\n")).map { String(Substring($0)) }
        #expect(lines.count == 5)
        #expect(lines[1] == #"c_total{l="\#(escaped)"} 1"#)
    }

    @Test func `the same name and labels are one series`() {
        let registry = MetricsRegistry()
        for _ in 0..<10 { registry.makeCounter(label: "c", dimensions: [("a", "b")]).increment(by: 1) }
        #expect(registry.text().contains(#"c_total{a="b"} 10"#))
    }

    @Test func `beyond the limit, series are counted but not kept`() {
        let registry = MetricsRegistry()
        for number in 0..<(MetricsRegistry.maximumSeries + 7) {
            registry.makeCounter(label: "c", dimensions: [("number", "\(number)")]).increment(by: 1)
        }
        let lines = registry.text().split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("c_total{") }.count == MetricsRegistry.maximumSeries)
        #expect(lines.last == "martlet_metrics_refused_total 7")
        registry.makeCounter(label: "c", dimensions: [("number", "0")]).increment(by: 1)
        #expect(registry.text().contains(#"c_total{number="0"} 2"#))
    }
}
