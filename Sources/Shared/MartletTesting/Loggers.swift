public import Logging

extension Logger {
    /// For tests that look at what is answered, not at what is logged.
    public static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// For requests that were not to fail: an answer 5xx does not say why.
    static let ofErrors = Logger(label: "test") { _ in ErrorPrinter() }
}

private struct ErrorPrinter: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.error

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        print("error log: \(event.message) \(event.metadata ?? [:])")
    }
}
