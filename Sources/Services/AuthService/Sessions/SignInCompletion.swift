import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// The last step of every sign-in without a password: checking the second factor and creating the session.
struct SignInCompletion: Sendable {
    let sessions: SessionStore
    let secondFactors: SecondFactorStore
    let signIns: SignIns
    let notice: NewDeviceNotice

    /// Signs in a user who has proved their identity.
    ///
    /// - Parameters:
    ///   - code: The code of the second factor from the request.
    ///   - hasTwoFactors: Whether the proof already consists of two factors, such as a passkey unlocked by a
    ///     fingerprint or a PIN. No code is then required.
    ///   - consume: Consumes the proof, so that it is used only once. Called after the second factor was accepted or is
    ///     not required. Returns false if the proof has been used already.
    /// - Throws: `second-factor-required` before anything is consumed, so that the same proof can be sent again with a
    ///   code; `sign-in-failed`, also if the user is disabled or deleted.
    func signIn(
        _ user: UUID, code: String?, hasTwoFactors: Bool = false, session: NewSession, in space: AppSpace,
        status: HTTPResponse.Status = .ok,
        consume: () async throws -> Bool
    ) async throws -> Response {
        if !hasTwoFactors { try await secondFactors.pass(code, of: .user(user, space)) }
        guard try await consume(), let json = try await sessions.create(session, of: user, in: space) else {
            throw ServiceError.unusableProof
        }
        await notice.send(user, session, in: space)
        return try signIns.answer(session.id, userID: user, user: json, in: space, status: status)
    }
}

/// Notifies users by mail of sign-ins on new devices.
struct NewDeviceNotice: Sendable {
    let users: UserStore
    let outbox: MailOutbox

    /// Never fails, because the user is already signed in.
    func send(_ user: UUID, _ session: NewSession, in space: AppSpace) async {
        guard (try? await outbox.canSendMail(in: space)) == true,
            let email = try? await users.recipientOfNewDeviceNotice(session, of: user, in: space)
        else { return }
        var order = MailOrder(.newDevice, to: email, user: user, in: space)
        order.values["time"] = outbox.time
        if !session.device.isEmpty { order.values["device"] = session.device }
        await outbox.sendNotice(order)
    }
}
