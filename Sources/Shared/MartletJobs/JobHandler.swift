/// Runs the jobs of one kind.
///
///     struct SendMail: JobHandler {
///         static let kind = "mail.send"
///         func run(_ mail: Mail, _ job: RunningJob) async throws -> JobNoResult { … }
///     }
///
/// A job may run more than once, for example when the process dies after the work but before the job is marked as done.
/// Handlers that only write to the database can prevent this with `RunningJob.finish(_:in:)`; all others must be
/// idempotent.
public protocol JobHandler: Sendable {
    /// The input of the job. Stored as JSON indefinitely: keep old shapes readable.
    associatedtype Parameters: Codable & Sendable
    /// The result, stored as JSON.
    associatedtype Output: Encodable & Sendable

    /// Identifies the handler in the table. Must never change.
    static var kind: String { get }
    static var retries: JobRetries { get }
    /// A longer run is cancelled and counts as failed, with the code `job-timeout`.
    static var timeLimit: Duration { get }

    /// Runs in a task that is cancelled when the job is cancelled, at shutdown, when the lease is lost, and at the time
    /// limit. `job.interruption` says which. The handler must then return or throw soon; what it throws is ignored.
    ///
    /// - Throws: `JobFailure` with a reason that the owner may read, or `JobPostponement` to run later. Any other error
    ///   is logged, and the owner sees only a generic message.
    func run(_ parameters: Parameters, _ job: RunningJob) async throws -> Output
}

extension JobHandler {
    public static var retries: JobRetries { JobRetries() }
    public static var timeLimit: Duration { .seconds(3_600) }
}

/// The result of a job that returns nothing.
public struct JobNoResult: Codable, Sendable, Equatable {
    public init() {}
}

/// The number of attempts and the delay between them: `firstDelay`, doubled after each attempt, with a jitter of 10 %.
public struct JobRetries: Sendable, Equatable {
    public var maximumAttempts: Int
    public var firstDelay: Duration
    public var maximumDelay: Duration

    public init(maximumAttempts: Int = 5, firstDelay: Duration = .seconds(5), maximumDelay: Duration = .seconds(3_600))
    {
        self.maximumAttempts = maximumAttempts
        self.firstDelay = firstDelay
        self.maximumDelay = maximumDelay
    }

    /// - Parameter attempt: The attempt that failed, counted from 1.
    func delay(after attempt: Int, jitter: Double = .random(in: 0.9...1.1)) -> Duration {
        let factor = Double(UInt64(1) << UInt64(min(max(attempt - 1, 0), 40)))
        return min(firstDelay * factor, maximumDelay) * jitter
    }
}

/// Why a job failed, in words for its owner.
public struct JobFailure: Error, Sendable, Equatable {
    /// A stable code for programs.
    public var code: String
    public var detail: String
    /// Whether a retry is pointless.
    public var isFinal: Bool
    /// Logged only.
    public var cause: String?
    /// JSON stored as the job's result: what was found before it failed.
    public var report: [UInt8]?

    public init(code: String, detail: String, isFinal: Bool = true, cause: String? = nil, report: [UInt8]? = nil) {
        self.code = code
        self.detail = detail
        self.isFinal = isFinal
        self.cause = cause
        self.report = report
    }
}

/// Thrown by a handler to run later without using up an attempt, for example when an upstream requests a delay.
public struct JobPostponement: Error, Sendable {
    public var delay: Duration

    public init(by delay: Duration) {
        self.delay = delay
    }
}

/// Why a run ends early.
public enum JobInterruption: Error, Sendable, Equatable {
    /// The job was cancelled through the queue.
    case cancelled
    /// The process is shutting down; another instance takes over the job.
    case shutdown
    /// The lease expired, so another worker may own the job. Nothing may be written for it any more.
    case leaseLost
    case timeLimit
}
