public import Logging
public import ServiceLifecycle

/// Work that every instance of a service repeats periodically, such as deleting old rows. It must be harmless to run
/// twice or on several instances at once.
///
/// A failed round is logged; the next one runs as scheduled.
public protocol PeriodicWork: Service {
    /// The longest pause between two rounds.
    var interval: Duration { get }
    var logger: Logger { get }

    /// Runs one round, in small batches, and returns soon after the task is cancelled.
    func work() async throws
}

extension PeriodicWork {
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            // Jitter: instances that start together do not all run at once, nor directly at startup.
            await NotifiedLoop(every: interval, jitter: 0.5...1, startsAtOnce: false).run {
                await attempt(
                    "Periodic work failed; the next round runs as scheduled.", metadata: ["work": "\(Self.self)"],
                    logger: logger
                ) { try await work() }
            }
        }
    }
}
