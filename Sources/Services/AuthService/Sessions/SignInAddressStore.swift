import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletPostgres

/// The addresses from which users have signed in with their passwords. Attempts from them are counted separately, so
/// that guesses from elsewhere do not make the user wait.
struct SignInAddressStore: Sendable {
    /// The approximate maximum number of addresses; the most recently used ones are kept.
    static let maximumPerUser = 20
    /// How long an address is kept after its last use.
    static let retentionInDays: Int32 = 90

    let postgres: PostgresClient
    let key: SymmetricKey

    /// Whether the user with this name has signed in from the address. Does the same work for unknown names.
    func isKnown(_ address: String, of identity: UserIdentity, in space: AppSpace) async throws -> Bool {
        try await !postgres.query(
            """
            SELECT FROM auth.users AS u JOIN auth.sign_in_places AS p ON p.user_id = u.id
            WHERE \(UserStore.isIn(space)) AND \(UserStore.isOf(identity)) AND p.place = \(hash(address, in: space))
                AND p.last_used > now() - make_interval(days => \(Self.retentionInDays))
            """
        ).isEmpty
    }

    func record(_ address: String, of user: UUID, in space: AppSpace) async throws {
        try await postgres.execute(
            """
            WITH noted AS (
                INSERT INTO auth.sign_in_places AS p (user_id, place)
                SELECT u.id, \(hash(address, in: space)) FROM auth.users AS u WHERE u.id = \(user) AND \(UserStore.isIn(space))
                -- Once a day is often enough to know that it is in use.
                ON CONFLICT (user_id, place) DO UPDATE SET last_used = now() WHERE p.last_used < now() - interval '1 day'
            )
            DELETE FROM auth.sign_in_places WHERE user_id = \(user) AND place IN (
                SELECT place FROM auth.sign_in_places WHERE user_id = \(user) ORDER BY last_used DESC OFFSET \(Self.maximumPerUser))
            """)
    }

    /// Deletes addresses that have not been used for a long time.
    func clean() async throws {
        try await postgres.execute(
            "DELETE FROM auth.sign_in_places WHERE last_used < now() - make_interval(days => \(Self.retentionInDays))",
            timeout: .seconds(120))
    }

    private func hash(_ address: String, in space: AppSpace) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: Data("\(space.jobScope) \(address)".utf8), using: key))
    }
}
