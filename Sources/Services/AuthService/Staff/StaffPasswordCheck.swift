import Foundation
import Hummingbird
import MartletAPI
import MartletCore

/// Requires a staff member's password again before actions that a stolen access token must not allow.
///
/// `PasswordCheck` does the same for users.
struct StaffPasswordCheck: Sendable {
    let staff: StaffStore
    let attempts: AttemptStore
    let hasher: PasswordHasher

    /// - Returns: The account that was checked.
    /// - Throws: `sign-in-failed`, `staff-not-found`, `too-many-requests`.
    func confirm(_ password: Secret, of id: UUID) async throws -> StaffStore.Account {
        guard let account = try await staff.account(id) else { throw ServiceError(.staffNotFound) }
        let isCorrect = try await attempts.guess(.staffAccount(id.uuidString)) {
            try await hasher.verify(password, against: account.passwordHash) ? true : nil
        }
        guard isCorrect != nil else { throw ServiceError.wrongPassword }
        return account
    }
}
