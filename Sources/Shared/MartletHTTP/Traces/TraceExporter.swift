import AsyncHTTPClient
import CoreMetrics
import Foundation
import HTTPTypes
public import Logging
import MartletBackground
public import MartletCore
import NIOCore
import NIOHTTP1
public import ServiceLifecycle

/// Sends the spans of this process to a trace collector, by OTLP over HTTP with JSON.
///
/// Sends every five seconds, when a batch is full, and when the process stops. While the collector is unavailable,
/// spans are dropped and counted; nothing else is affected.
public struct TraceExporter: Service {
    private static let interval: Duration = .seconds(5)
    /// For one request to the collector.
    private static let timeout: Duration = .seconds(10)
    private static let maximumAnswerInBytes = 64 << 10
    /// The longest pause that a collector may request.
    private static let maximumPause: Duration = .seconds(30)

    /// The spans to send.
    public let queue = SpanQueue()

    /// For everything that is left when the process stops. The servers before it may have used most of the 30 s.
    var flushTime: Duration = .seconds(2)

    private let process: String
    private let instance = UUID().uuidString.lowercased()
    private let url: String
    private let headers: [(name: String, value: Secret)]
    private let pause: Duration
    private let logger: Logger
    private let client = OutgoingClient(.anywhere, connectionsPerHost: 1)
    private let dropped = Counter(label: "martlet.traces.spans.dropped")

    /// - Parameters:
    ///   - endpoint: The collector's base URL.
    ///   - headers: For each request, such as a token.
    ///   - pause: Before the second attempt, unless the collector requests another pause.
    init(
        process: String, endpoint: URL, headers: [(name: String, value: Secret)] = [], pause: Duration = .seconds(1),
        logger: Logger
    ) {
        let base = endpoint.absoluteString
        self.process = process
        url = (base.hasSuffix("/") ? String(base.dropLast()) : base) + "/v1/traces"
        self.headers = headers
        self.pause = pause
        self.logger = logger
    }

    /// Reads `traces.endpoint` and `traces.headers`. Nil without an endpoint; the process then creates no spans.
    ///
    /// - Parameter process: The process's name.
    /// - Throws: `SettingsError`.
    public init?(process: String, settings: Settings, logger: Logger) throws {
        guard let endpoint = try settings.optionalURL("traces.endpoint") else { return nil }
        let headers = try settings.list("traces.headers").map { try Self.header($0) }
        self.init(process: process, endpoint: endpoint, headers: headers, logger: logger)
    }

    /// Parses `name=value`, where the value may be percent-encoded, as in `OTEL_EXPORTER_OTLP_HEADERS`.
    private static func header(_ text: String) throws -> (name: String, value: Secret) {
        let parts = text.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
        guard parts.count == 2, HTTPField.Name(parts[0]) != nil, let value = parts[1].removingPercentEncoding,
            HTTPField.isValidValue(value)
        else {
            throw SettingsError(
                key: "traces.headers", problem: "must be a list of name=value, with values percent-encoded")
        }
        return (parts[0], Secret(value))
    }

    public func run() async throws {
        await cancelWhenGracefulShutdown {
            // Log only the first of several failures in a row.
            var level = Logger.Level.warning
            await NotifiedLoop(every: Self.interval, startsAtOnce: false, retries: .seconds(1)...Self.interval)
                .run(on: queue.fullBatches) {
                    let isSent = await sendAll(loggingAt: level)
                    level = isSent ? .warning : .debug
                    return isSent
                }
        }
        await flush()
    }

    /// Sends all batches that wait.
    ///
    /// - Returns: False after the first batch that the collector did not accept.
    private func sendAll(loggingAt level: Logger.Level) async -> Bool {
        defer { dropped.increment(by: queue.takeDroppedCount()) }
        while let batch = queue.takeBatch() {
            let isSent = await attempt(
                "Could not send spans to the trace collector; dropping them until it accepts them.", level: level,
                logger: logger
            ) { try await send(batch) }
            guard !isSent else { continue }
            // `flush` retries a batch that the shutdown interrupted.
            if Task.isCancelled { queue.putBack(batch) } else { dropped.increment(by: batch.count) }
            return false
        }
        return true
    }

    /// Sends a batch, and once more after a pause if the collector is busy or the connection failed.
    ///
    /// - Throws: `Refusal`, `OutgoingFailure`; `CancellationError`.
    func send(_ spans: [RequestSpan]) async throws {
        let body = try body(spans)
        do {
            try await post(body, within: Self.timeout)
        } catch  where Self.isTemporary(error) {
            let requested = (error as? Refusal)?.pause
            try await Task.sleep(for: min(requested ?? pause * Double.random(in: 1...2), Self.maximumPause))
            try await post(body, within: Self.timeout)
        }
    }

    /// Whether another attempt may succeed. Source: OTLP specification, "OTLP/HTTP Response".
    private static func isTemporary(_ error: any Error) -> Bool {
        switch error {
        case let refusal as Refusal: [429, 502, 503, 504].contains(refusal.status)
        case OutgoingFailure.unreachable, OutgoingFailure.connectionLost: true
        default: false
        }
    }

    /// Sends what is left. Each batch gets one attempt, and all of them together `flushTime`.
    private func flush() async {
        let deadline = ContinuousClock.now + flushTime
        await attempt("Could not send the last spans before the stop; they are dropped.", logger: logger) {
            while let batch = queue.takeBatch() {
                do {
                    try await post(try body(batch), within: max(.zero, ContinuousClock.now.duration(to: deadline)))
                } catch {
                    queue.putBack(batch)
                    throw error
                }
            }
        }
        while let batch = queue.takeBatch() { dropped.increment(by: batch.count) }
        dropped.increment(by: queue.takeDroppedCount())
    }

    private func body(_ spans: [RequestSpan]) throws -> ByteBuffer {
        ByteBuffer(bytes: try JSONEncoder().encode(TraceExport(spans, process: process, instance: instance)))
    }

    private func post(_ body: ByteBuffer, within timeout: Duration) async throws {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        request.headers.add(name: "user-agent", value: "Martlet")
        for (name, value) in headers { value.withValue { request.headers.add(name: name, value: $0) } }
        request.body = .bytes(body)
        let answer = try await client.send(request, within: timeout, upTo: Self.maximumAnswerInBytes)
        guard (200..<300).contains(answer.status) else { throw Refusal(answer) }
    }

    /// A status other than success.
    struct Refusal: Error, CustomStringConvertible {
        let status: Int
        /// From `Retry-After`; nil if it is absent, or a date.
        let pause: Duration?

        init(_ answer: OutgoingClient.Answer) {
            status = answer.status
            pause = answer.headers.first(name: "retry-after").flatMap { Int($0) }.map { Duration.seconds(max(0, $0)) }
        }

        var description: String { "The collector answered with status \(status)." }
    }
}
