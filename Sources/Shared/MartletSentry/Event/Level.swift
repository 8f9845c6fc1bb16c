/// The severity of a report.
public enum Level: Int, Sendable, Comparable, CaseIterable {
    case debug = 1
    case info, warning, error, fatal

    /// Ignores case; nil for an unknown name.
    public init?(name: String) {
        switch name.lowercased() {
        case "debug", "trace": self = .debug
        case "info", "log", "sample": self = .info
        case "warning", "warn": self = .warning
        case "error": self = .error
        case "fatal", "critical": self = .fatal
        default: return nil
        }
    }

    public var name: String { "\(self)" }

    public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
}
