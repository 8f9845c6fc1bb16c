import Logging
import ServiceLifecycle

/// Deletes, every hour, what nobody needs any more: sessions, revocations, counted attempts, authorization codes, ways to providers, where
/// users signed in, what was mailed, receipts.
struct Housekeeping: Service {
    private static let interval: Duration = .seconds(3_600)

    let sessions: SessionStore
    let staffSessions: StaffSessionStore
    let deletions: DeletionStore
    let codes: AuthorizationCodeStore
    let places: PlaceStore
    let proofs: MailProofStore
    let flows: OAuthFlowStore
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                // Not all copies at once, nor at the start.
                try? await Task.sleep(for: Self.interval * Double.random(in: 0.8...1.2))
                if Task.isCancelled { return }
                do {
                    try await sessions.clean()
                    try await staffSessions.clean()
                    try await deletions.clean()
                    try await codes.clean()
                    try await places.clean()
                    try await proofs.clean()
                    try await flows.clean()
                } catch {
                    logger.warning("What is old could not be deleted; the next attempt is in an hour.", metadata: ["error.cause": "\(error)"])
                }
            }
        }
    }
}
