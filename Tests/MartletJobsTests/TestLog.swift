import Logging
import Synchronization

/// Keeps what is logged, a line each: level, message and metadata.
final class TestLog: Sendable {
    private let state = Mutex<[String]>([])

    var lines: [String] { state.withLock { $0 } }

    var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

    private func add(_ line: String) { state.withLock { $0.append(line) } }

    private struct Handler: LogHandler {
        let log: TestLog
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let values = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            log.add((["\(event.level)", "\(event.message)"] + values).joined(separator: " "))
        }
    }
}
