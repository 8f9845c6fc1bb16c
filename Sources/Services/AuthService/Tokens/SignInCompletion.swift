import Foundation
import Hummingbird
import MartletAPI
import MartletHTTP

/// The last step of every way to sign in without a password: the second factor, then the session.
struct SignInCompletion: Sendable {
    let sessions: SessionStore
    let secondFactor: SecondFactorCheck
    let signIns: SignIns
    let notice: NewDeviceNotice

    /// Signs in a user who has proved who they are.
    ///
    /// - Parameters:
    ///   - code: of the second factor, as it came with the request.
    ///   - hasTwoFactors: the proof was of two factors already, such as a passkey's that was opened by a fingerprint or
    ///     a PIN: no code is asked for.
    ///   - consume: takes what the proof was made of, so that it counts once; called when the second factor was right
    ///     or is not asked for. False: it has been taken meanwhile.
    /// - Throws: `second-factor-required` before anything is consumed, so that the same proof may come again with a
    ///   code; `sign-in-failed` also when the user is disabled or gone.
    func signIn(
        _ user: UUID, code: String?, hasTwoFactors: Bool = false, session: NewSession, in space: UserSpace,
        status: HTTPResponse.Status = .ok,
        consume: () async throws -> Bool
    ) async throws -> Response {
        if !hasTwoFactors { try await secondFactor.pass(code, of: user, in: space) }
        guard try await consume(), let json = try await sessions.create(session, of: user, in: space) else {
            throw HTTPProblem.spentProof
        }
        await notice.tell(user, session, in: space)
        return try signIns.answer(session.id, userID: user, user: json, in: space, status: status)
    }
}

/// Tells users by mail that they are signed in where they were not before.
struct NewDeviceNotice: Sendable {
    let users: UserStore
    let outbox: MailOutbox

    /// Never fails: who has signed in is signed in.
    func tell(_ user: UUID, _ session: NewSession, in space: UserSpace) async {
        guard (try? await outbox.isThere(in: space)) == true,
            let email = try? await users.recipientOfNewDevice(session, of: user, in: space)
        else { return }
        var order = MailOrder(.newDevice, to: email, user: user, in: space)
        order.values["time"] = MailOrder.now
        if !session.device.isEmpty { order.values["device"] = session.device }
        await outbox.tell(order)
    }
}

/// Asks for the second factor of those who have one.
struct SecondFactorCheck: Sendable {
    let attempts: AttemptStore
    let secondFactors: SecondFactorStore

    /// Wrong codes count for the user, whatever name they come under.
    ///
    /// - Throws: `second-factor-required` when one is asked for and `code` is nil, and nothing was counted;
    ///   `sign-in-failed`, `too-many-requests`.
    func pass(_ code: String?, of user: UUID, in space: UserSpace) async throws {
        try await pass(code, of: user, counting: .code(of: user, in: space))
    }

    /// The same, wrong codes counted against `limit`.
    func pass(_ code: String?, of user: UUID, counting limit: AttemptStore.Limit) async throws {
        guard try await secondFactors.isAsked(of: user) else { return }
        guard let code else { throw HTTPProblem(.secondFactorRequired) }
        try await secondFactors.take(code, of: user, counting: limit, by: attempts)
    }
}
