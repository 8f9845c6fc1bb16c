import Foundation
import MartletKit

struct SportLook: Sendable {
    let martlet: Martlet

    /// Creates an account and signs in.
    func register(email: String, password: String, profile: Person) async throws -> User {
        let outcome = try await martlet.users.signUp(
            email: email, password: password, profile: try JSON(encoding: profile))
        guard case .signedIn(let user) = outcome else {
            throw MartletError(.signInFailed, "The app's setting requireVerifiedEmail must be off.")
        }
        return user
    }

    /// The signed-in user's id.
    func me() async throws -> String {
        guard let user = try await martlet.users.current else {
            throw MartletError(.notSignedIn, "Nobody is signed in.")
        }
        return user.id
    }
}
