public import Logging

/// Runs a step of background work and returns whether it succeeded. A failure is logged once, unless the task was
/// cancelled, because it then proves nothing.
///
/// - Parameters:
///   - sentence: What could not be done and what happens next: "Could not delete old sessions; retrying in an hour."
///   - level: `.debug` for work that is repeated so soon that a short outage is not worth a line.
///   - metadata: Added to the cause.
@discardableResult
public func attempt(
    _ sentence: Logger.Message, level: Logger.Level = .warning, metadata: Logger.Metadata = [:], logger: Logger,
    _ step: () async throws -> Void
) async -> Bool {
    do {
        try await step()
        return true
    } catch {
        if !Task.isCancelled {
            logger.log(level: level, sentence, metadata: metadata.merging(["error.cause": "\(error)"]) { $1 })
        }
        return false
    }
}
