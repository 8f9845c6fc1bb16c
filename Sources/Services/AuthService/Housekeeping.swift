import Logging
import ServiceLifecycle

/// Deletes, every hour, what nobody needs any more: sessions, revocations, counted attempts, what was mailed.
struct Housekeeping: Service {
    private static let interval: Duration = .seconds(3_600)

    let sessions: SessionStore
    let proofs: MailProofStore
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                // Not all copies at once, nor at the start.
                try? await Task.sleep(for: Self.interval * Double.random(in: 0.8...1.2))
                if Task.isCancelled { return }
                do {
                    try await sessions.clean()
                    try await proofs.clean()
                } catch {
                    logger.warning(
                        "Old sessions and proofs could not be deleted; the next attempt is in an hour.", metadata: ["error.cause": "\(error)"])
                }
            }
        }
    }
}
