/// What is done for one kind of job.
///
///     struct SendMail: JobHandler {
///         static let kind = "mail.send"
///         func run(_ mail: Mail, _ job: RunningJob) async throws -> JobNoResult { … }
///     }
///
/// A job may run more than once: when the process dies after the work and before the note of it. Work that stays in the
/// database avoids that with `RunningJob.finish(_:in:)`; other work must be harmless to repeat.
public protocol JobHandler: Sendable {
    /// What the job is to do. Stored as JSON, without limit of time: keep old shapes readable.
    associatedtype Parameters: Codable & Sendable
    /// What is kept of it, as JSON.
    associatedtype Output: Encodable & Sendable

    /// Names the handler in the table; never changes.
    static var kind: String { get }
    static var retries: JobRetries { get }
    /// A run that takes longer is cancelled and counts as failed.
    static var timeLimit: Duration { get }

    /// Runs in a task that is cancelled when the job is, at shutdown, and when the lease is lost; it must then soon
    /// return or throw.
    ///
    /// - Throws: `JobFailure` for what the job's owner may read, `JobPostponement` to run later; anything else is
    ///   logged, and the owner reads that something went wrong.
    func run(_ parameters: Parameters, _ job: RunningJob) async throws -> Output
}

extension JobHandler {
    public static var retries: JobRetries { JobRetries() }
    public static var timeLimit: Duration { .seconds(3_600) }
}

/// The result of a job that has none.
public struct JobNoResult: Codable, Sendable, Equatable {
    public init() {}
}

/// How often a job is tried, and how long it rests between: `firstDelay`, then twice as long each time, give or take a
/// tenth.
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

    /// - Parameter attempt: the one that failed, from 1.
    func delay(after attempt: Int, jitter: Double = .random(in: 0.9...1.1)) -> Duration {
        let factor = Double(UInt64(1) << UInt64(min(max(attempt - 1, 0), 40)))
        return min(firstDelay * factor, maximumDelay) * jitter
    }
}

/// Why a job failed, in words for its owner.
public struct JobFailure: Error, Sendable, Equatable {
    /// Stable, for programs.
    public var code: String
    public var detail: String
    /// Whether trying again is useless.
    public var isFinal: Bool
    /// For the log only.
    public var cause: String?
    /// JSON that is kept as the job's result: what was found out before it failed.
    public var report: [UInt8]?

    public init(code: String, detail: String, isFinal: Bool = true, cause: String? = nil, report: [UInt8]? = nil) {
        self.code = code
        self.detail = detail
        self.isFinal = isFinal
        self.cause = cause
        self.report = report
    }
}

/// Thrown by a handler that wants to run later, without counting as an attempt: somebody asked us to wait.
public struct JobPostponement: Error, Sendable {
    public var delay: Duration

    public init(by delay: Duration) {
        self.delay = delay
    }
}

/// Why a run ends early.
public enum JobInterruption: Error, Sendable, Equatable {
    /// Somebody cancelled the job.
    case cancelled
    /// The process is going down; another copy takes the job over.
    case shutdown
    /// The lease ran out, so that another worker may have the job. Nothing may be written for it any more.
    case leaseLost
    case timeLimit
}
