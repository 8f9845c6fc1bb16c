public import Logging

extension Logger {
    /// For tests that check answers and not logs.
    public static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// For requests that should succeed. Prints errors, because a 5xx answer does not contain the reason.
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
