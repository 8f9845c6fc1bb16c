public import CoreMetrics
import Synchronization

/// Collects the process's metrics and formats them for `/metrics` in the Prometheus text format 0.0.4.
///
/// A backend of swift-metrics. In names, characters other than letters and digits become `_`; counters end in `_total`.
/// Timers become histograms in seconds whose names end in `_seconds`. `MetricHelp` has the `# HELP` sentences. At most
/// `maximumSeries` series are stored and further ones only counted, so that a label with unbounded values cannot
/// exhaust memory.
public final class MetricsRegistry: MetricsFactory {
    public static let maximumSeries = 5_000

    private struct Key: Hashable {
        var name: String
        var labels: String
    }

    private struct State {
        var series: [Key: any Series] = [:]
        var refused = 0
    }

    private let state = Mutex(State())

    public init() {}

    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(Self.name(label, suffix: "_total"), dimensions, orElse: CounterSeries.init)
    }

    public func makeFloatingPointCounter(label: String, dimensions: [(String, String)])
        -> any FloatingPointCounterHandler
    {
        series(Self.name(label, suffix: "_total"), dimensions, orElse: FractionCounterSeries.init)
    }

    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        aggregate
            ? series(Self.name(label), dimensions) { HistogramSeries(bounds: HistogramSeries.plainBounds) }
            : series(Self.name(label), dimensions, orElse: GaugeSeries.init)
    }

    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(Self.name(label), dimensions, orElse: GaugeSeries.init)
    }

    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(Self.name(label, suffix: "_seconds"), dimensions) {
            HistogramSeries(bounds: HistogramSeries.secondBounds)
        }
    }

    // A series lives as long as the process: a counter that disappeared and came back would look like a restart.
    public func destroyCounter(_ handler: any CounterHandler) {}
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    public func destroyMeter(_ handler: any MeterHandler) {}
    public func destroyTimer(_ handler: any TimerHandler) {}

    /// All series in the text format, sorted by name.
    public func text() -> String {
        let (all, refused) = state.withLock { (Array($0.series), $0.refused) }
        var text = ""
        var described = ""
        for (key, series) in all.sorted(by: { ($0.key.name, $0.key.labels) < ($1.key.name, $1.key.labels) }) {
            if key.name != described {
                Self.describe(key.name, series.type, to: &text)
                described = key.name
            }
            series.write(name: key.name, labels: key.labels, to: &text)
        }
        Self.describe("martlet_metrics_refused_total", "counter", to: &text)
        return text + "martlet_metrics_refused_total \(refused)\n"
    }

    /// How many of the values that the histograms with this name have recorded are above `bound`, which must be one of
    /// their bounds. Nil if there is no such histogram.
    func count(of name: String, above bound: Double) -> Int64? {
        let all = state.withLock { state in Array(state.series.filter { $0.key.name == name }.values) }
        let histograms = all.compactMap { $0 as? HistogramSeries }
        return histograms.isEmpty ? nil : histograms.reduce(0) { $0 + $1.count(above: bound) }
    }

    private static func describe(_ name: String, _ type: String, to text: inout String) {
        if let help = MetricHelp.sentences[name] { text += "# HELP \(name) \(help)\n" }
        text += "# TYPE \(name) \(type)\n"
    }

    private func series<S: Series>(_ name: String, _ dimensions: [(String, String)], orElse make: () -> S) -> S {
        let key = Key(name: name, labels: Self.labels(dimensions))
        return state.withLock { state in
            if let known = state.series[key] as? S { return known }
            let fresh = make()
            if state.series.count < Self.maximumSeries {
                state.series[key] = fresh
            } else {
                state.refused += 1
            }
            return fresh
        }
    }

    private static func name(_ label: String, suffix: String = "") -> String {
        let name = String(label.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        return name.hasSuffix(suffix) ? name : name + suffix
    }

    private static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.map { key, value in
            var escaped = ""
            // Iterate over scalars: CR and LF together form one Character, which does not equal "\n".
            for scalar in value.unicodeScalars {
                switch scalar {
                case "\\": escaped += "\\\\"
                case "\"": escaped += "\\\""
                case "\n": escaped += "\\n"
                default: escaped.unicodeScalars.append(scalar)
                }
            }
            return name(key) + "=\"" + escaped + "\""
        }.joined(separator: ",")
    }
}

/// One line, or group of lines, in the text format.
private protocol Series: AnyObject, Sendable {
    var type: String { get }
    func write(name: String, labels: String, to text: inout String)
}

extension Series {
    fileprivate func sample(_ name: String, _ labels: String, _ value: String, to text: inout String) {
        text += labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels)} \(value)\n"
    }
}

private final class CounterSeries: CounterHandler, Series {
    let type = "counter"
    private let value = Atomic<Int64>(0)

    func increment(by amount: Int64) {
        value.wrappingAdd(amount, ordering: .relaxed)
    }

    func reset() {
        value.store(0, ordering: .relaxed)
    }

    func write(name: String, labels: String, to text: inout String) {
        sample(name, labels, "\(value.load(ordering: .relaxed))", to: &text)
    }
}

private final class FractionCounterSeries: FloatingPointCounterHandler, Series {
    let type = "counter"
    private let value = Mutex(0.0)

    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func reset() { value.withLock { $0 = 0 } }

    func write(name: String, labels: String, to text: inout String) {
        sample(name, labels, "\(value.withLock { $0 })", to: &text)
    }
}

private final class GaugeSeries: MeterHandler, RecorderHandler, Series {
    let type = "gauge"
    private let value = Mutex(0.0)

    func set(_ value: Int64) { self.value.withLock { $0 = Double(value) } }
    func set(_ value: Double) { self.value.withLock { $0 = value } }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { value.withLock { $0 -= amount } }
    func record(_ value: Int64) { set(value) }
    func record(_ value: Double) { set(value) }

    func write(name: String, labels: String, to text: inout String) {
        sample(name, labels, "\(value.withLock { $0 })", to: &text)
    }
}

private final class HistogramSeries: TimerHandler, RecorderHandler, Series {
    static let secondBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    static let plainBounds: [Double] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000, 100_000, 1_000_000]

    private struct State {
        var counts: [Int64]
        var sum = 0.0
    }

    let type = "histogram"
    private let bounds: [Double]
    private let state: Mutex<State>

    init(bounds: [Double]) {
        self.bounds = bounds
        self.state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock {
            $0.counts[bucket] += 1
            $0.sum += value
        }
    }

    func count(above bound: Double) -> Int64 {
        let first = bounds.firstIndex { $0 > bound } ?? bounds.count
        return state.withLock { $0.counts[first...].reduce(0, +) }
    }

    func write(name: String, labels: String, to text: inout String) {
        let (counts, sum) = state.withLock { ($0.counts, $0.sum) }
        let separator = labels.isEmpty ? "" : ","
        var total: Int64 = 0
        for (index, count) in counts.enumerated() {
            total += count
            let bound = index < bounds.count ? "\(bounds[index])" : "+Inf"
            sample(name + "_bucket", labels + separator + "le=\"\(bound)\"", "\(total)", to: &text)
        }
        sample(name + "_sum", labels, "\(sum)", to: &text)
        sample(name + "_count", labels, "\(total)", to: &text)
    }
}
