public import Logging
public import ServiceLifecycle

/// Work that every copy of a service does now and then, such as taking away what is old: harmless when it is done
/// twice, or on two copies at once.
///
/// A round that fails is logged, and the next one comes as always.
public protocol PeriodicWork: Service {
    /// The longest pause between two rounds.
    var interval: Duration { get }
    var logger: Logger { get }

    /// A round, in small portions that end soon once the task is cancelled.
    func work() async throws
}

extension PeriodicWork {
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                // Copies that start together do not all look at once, nor at the start.
                try? await Task.sleep(for: interval * Double.random(in: 0.5...1))
                if Task.isCancelled { return }
                do {
                    try await work()
                } catch {
                    if Task.isCancelled { return }
                    logger.warning(
                        "a round of periodic work failed",
                        metadata: ["work": "\(Self.self)", "error.cause": "\(error)"])
                }
            }
        }
    }
}
