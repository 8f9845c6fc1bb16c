import Foundation
import Logging
import MartletBackground

/// Deletes expired data every hour: sessions, revocations, counted attempts, authorization codes, provider sign-in
/// flows, sign-in addresses, mail proofs and counts, receipts, entries of the audit log, and the histories of status
/// and statements.
struct Housekeeping: PeriodicWork {
    let interval: Duration = .seconds(3_600)

    let sessions: SessionStore
    let deletions: DeletionStore
    let codes: AuthorizationCodeStore
    let signInAddresses: SignInAddressStore
    let proofs: MailProofStore
    let flows: OAuthFlowStore
    let audit: AuditStore
    let auditRetentionInDays: Int
    let status: StatusStore
    let statements: StatementStore
    let now: @Sendable () -> Date
    let logger: Logger

    func work() async throws {
        try await sessions.clean()
        try await deletions.clean()
        try await codes.clean()
        try await signInAddresses.clean()
        try await proofs.clean()
        try await flows.clean()
        try await audit.prune(olderThan: auditRetentionInDays)
        try await status.prune(at: now())
        try await statements.prune(at: now())
    }
}
