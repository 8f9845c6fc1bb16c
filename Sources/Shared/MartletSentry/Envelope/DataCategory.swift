/// The categories of rate limits and counts in Sentry's protocol.
public enum DataCategory: String, Sendable, CaseIterable {
    case `default`, error, transaction, security, attachment, session, profile, replay, monitor, span, feedback
    case metricBucket = "metric_bucket"
    case logItem = "log_item"

    /// - Parameter itemType: The type of an envelope's item; unknown types are `default`. The result is nil for a
    ///   client report, which has no limit.
    public init?(itemType: String) {
        switch itemType {
        case "client_report": return nil
        case "event": self = .error
        case "transaction": self = .transaction
        case "attachment": self = .attachment
        case "session", "sessions": self = .session
        case "user_report", "feedback": self = .feedback
        case "check_in": self = .monitor
        case "log", "otel_log": self = .logItem
        case "profile", "profile_chunk": self = .profile
        case "replay_event", "replay_recording", "replay_video": self = .replay
        case "statsd", "metric_buckets", "metric_meta", "trace_metric": self = .metricBucket
        case "span", "otel_span": self = .span
        case "security", "raw_security": self = .security
        default: self = .default
        }
    }

    /// - Parameter name: The name in a client report; unknown names are `default`.
    public init(name: String) { self = DataCategory(rawValue: name) ?? .default }
}

/// An entry of `X-Sentry-Rate-Limits`: how long a client must not send certain categories.
public struct RateLimit: Sendable, Equatable {
    public var seconds: Int
    /// Empty means all categories.
    public var categories: [DataCategory]
    public var reason: String

    public init(seconds: Int, categories: [DataCategory], reason: String) {
        self.seconds = seconds
        self.categories = categories
        self.reason = reason
    }

    /// `<seconds>:<category;…>:<scope>:<reason>`
    public var text: String { "\(seconds):\(categories.map(\.rawValue).joined(separator: ";")):key:\(reason)" }
}
