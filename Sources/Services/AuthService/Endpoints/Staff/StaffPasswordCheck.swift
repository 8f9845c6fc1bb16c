import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Asks staff for the password once more before what a stolen access token must not do; as `PasswordCheck`.
struct StaffPasswordCheck: Sendable {
    let staff: StaffStore
    let attempts: AttemptStore
    let hasher: PasswordHasher

    /// - Returns: the account as it was found.
    /// - Throws: `sign-in-failed`, `staff-not-found`, `too-many-requests`.
    func confirm(_ password: Secret, of id: UUID) async throws -> StaffStore.Account {
        guard let account = try await staff.account(id) else { throw HTTPProblem(.staffNotFound) }
        let isRight = try await attempts.guess(.staffAccount(id.uuidString)) {
            try await hasher.verify(password, against: account.passwordHash) ? true : nil
        }
        guard isRight != nil else { throw HTTPProblem.wrongPassword }
        return account
    }
}
