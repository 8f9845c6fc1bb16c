import MartletAPI
import MartletHTTP
import MartletMail

extension AppSettings {
    /// Whether somebody may get an account with this name and address, as far as the app's settings say.
    ///
    /// - Throws: `invalid-body` naming the field.
    func checkSignUp(email: EmailAddress?, invitation: String?) throws {
        try check(email)
        if inviteOnly, invitation == nil {
            throw HTTPProblem(.invalidBody, "Signing up needs an invitation.", field: "invitation")
        }
    }

    /// - Throws: `forbidden` where signing up needs an invitation, and this way has none.
    func checkSignUpWithoutInvitation() throws {
        if inviteOnly { throw HTTPProblem(.forbidden, "Signing up needs an invitation.") }
    }

    /// - Throws: `forbidden` where signing up needs an invitation or an address: an anonymous user has neither.
    func checkAnonymousSignUp() throws {
        try checkSignUpWithoutInvitation()
        if requireVerifiedEmail { throw HTTPProblem(.forbidden, "Signing up needs an e-mail address.") }
    }

    /// - Throws: `forbidden` where the app demands a verified address, and this account has none.
    func checkSignIn(isEmailVerified: Bool) throws {
        if requireVerifiedEmail, !isEmailVerified {
            throw HTTPProblem(.forbidden, "The e-mail address is not verified yet.")
        }
    }

    /// - Throws: `invalid-body` for an address that the app does not take, and for none where it demands one.
    func check(_ email: EmailAddress?) throws {
        if requireVerifiedEmail, email == nil {
            throw HTTPProblem(.invalidBody, "An e-mail address is required.", field: "email")
        }
        if refuseDisposable, let email, DisposableAddresses.contains(email.text) {
            throw HTTPProblem(.invalidBody, "Addresses of this provider are not accepted.", field: "email")
        }
    }

    /// Whether whoever reads an unknown address may get an account by that alone.
    func allowsSignUpByMail(_ email: String) -> Bool {
        signUpByMail && !inviteOnly && !(refuseDisposable && DisposableAddresses.contains(email))
    }
}
