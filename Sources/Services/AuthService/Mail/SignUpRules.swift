import MartletAPI
import MartletCore
import MartletMail

extension AppSettings {
    /// Checks whether the app's settings allow an account with this address and invitation.
    ///
    /// - Throws: `invalid-body` with the field.
    func checkSignUp(email: EmailAddress?, invitation: String?) throws {
        try check(email)
        if inviteOnly, invitation == nil {
            throw ServiceError(.invalidBody, "Signing up requires an invitation.", field: "invitation")
        }
    }

    /// - Throws: `forbidden` if signing up requires an invitation, which this way of signing up does not have.
    func checkSignUpWithoutInvitation() throws {
        if inviteOnly { throw ServiceError(.forbidden, "Signing up requires an invitation.") }
    }

    /// - Throws: `forbidden` if signing up requires an invitation or an address; an anonymous user has neither.
    func checkAnonymousSignUp() throws {
        try checkSignUpWithoutInvitation()
        if requireVerifiedEmail { throw ServiceError(.forbidden, "Signing up requires an e-mail address.") }
    }

    /// - Throws: `forbidden` if the app requires a verified address and this account has none.
    func checkSignIn(isEmailVerified: Bool) throws {
        if requireVerifiedEmail, !isEmailVerified {
            throw ServiceError(.forbidden, "The e-mail address is not verified yet.")
        }
    }

    /// - Throws: `invalid-body` if the app does not accept the address, or requires one and there is none.
    func check(_ email: EmailAddress?) throws {
        if requireVerifiedEmail, email == nil {
            throw ServiceError(.invalidBody, "An e-mail address is required.", field: "email")
        }
        if refuseDisposable, let email, DisposableAddresses.contains(email.text) {
            throw ServiceError(.invalidBody, "Addresses of this provider are not accepted.", field: "email")
        }
    }

    /// Whether signing in by mail creates an account for an address that has none.
    func allowsSignUpByMail(_ email: String) -> Bool {
        signUpByMail && !inviteOnly && !(refuseDisposable && DisposableAddresses.contains(email))
    }
}
