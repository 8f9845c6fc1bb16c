/// Bypasses swift-log for a process that writes very many request lines: complete JSON lines go directly to the buffer
/// in front of standard error.
///
/// A line through swift-log costs 2 µs before any handler receives it; one that the gateway writes here costs 0.3 µs.
public enum RequestLines {
    /// - Parameter lines: One or more lines in the format of `JSONLogHandler`, each ending in a line feed.
    public static func write(_ lines: [UInt8]) {
        LogSink.standardError.write(lines, flushing: false)
    }
}
