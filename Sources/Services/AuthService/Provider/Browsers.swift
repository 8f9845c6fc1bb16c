import Crypto
import Foundation
import Hummingbird
import MartletCore

/// What the provider keeps in a person's browser: that they are signed in, and what ties a form to the browser that it
/// was sent to.
///
/// Cookies are the issuer's alone by their path; the prefix `__Host-`, which would keep other hosts of the domain from
/// setting them, allows no path, so it is `__Secure-`, and what is in them counts for nothing unless we made it.
struct Browsers: Sendable {
    static let sessionLifetimeInSeconds: Int64 = 14 * 86_400
    /// What the session is called in the user's list.
    static let device = "Browser"

    let sessions: ClientSessionStore
    let tokens: ProviderTokens
    let formKey: SymmetricKey

    /// Who is signed in with the browser.
    func session(_ request: Request, _ issuer: Issuer) async throws -> ClientSessionStore.Browser? {
        guard let cookie = request.cookies[Self.name("session", issuer)],
            let token = tokens.content(of: cookie.value, .browser)
        else { return nil }
        return try await sessions.browser(token.session, in: issuer.space)
    }

    /// The cookie of a session that has just begun: never one that came from outside (session fixation).
    func sessionCookie(_ session: UUID, _ issuer: Issuer) -> Cookie {
        Self.cookie("session", tokens.token(.browser, .init(session: session, value: 0)), issuer)
    }

    /// What takes the cookie of a session away that has ended.
    func noSessionCookie(_ issuer: Issuer) -> Cookie { Self.cookie("session", "", issuer, maximumAgeInSeconds: 0) }

    /// The value that the forms of this browser are tied to, and the cookie to set when it is a new one.
    func formSecret(_ request: Request, _ issuer: Issuer) -> (value: String, new: Cookie?) {
        if let known = request.cookies[Self.name("form", issuer)]?.value, known.utf8.count == 43 { return (known, nil) }
        let value = Secret.random().withValue { $0 }
        return (value, Self.cookie("form", value, issuer))
    }

    /// Shows that a form was sent to this browser, signed in as it is, for this request and no other (CSRF).
    ///
    /// - Parameter session: of the browser; nil: nobody need be signed in.
    func formToken(_ form: Form, secret: String, session: UUID?, query: String, _ issuer: Issuer) -> String {
        Base64URL.encode(
            HMAC<SHA256>.authenticationCode(for: Self.bytes(form, secret, session, query, issuer), using: formKey))
    }

    /// Whether the form that came has the token that it was sent out with.
    func isGenuine(
        _ form: Form, _ fields: FormFields, _ request: Request, session: UUID?, query: String, _ issuer: Issuer
    ) -> Bool {
        guard let secret = request.cookies[Self.name("form", issuer)]?.value,
            let token = fields["form_token"].flatMap({ Base64URL.decode($0) })
        else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(
            token, authenticating: Self.bytes(form, secret, session, query, issuer), using: formKey)
    }

    enum Form: String {
        case logIn, consent, logOut
    }

    private static func bytes(_ form: Form, _ secret: String, _ session: UUID?, _ query: String, _ issuer: Issuer)
        -> Data
    {
        Data([form.rawValue, issuer.url, secret, session?.uuidString ?? "", query].joined(separator: "\u{0}").utf8)
    }

    private static func name(_ name: String, _ issuer: Issuer) -> String {
        (issuer.isSecure ? "__Secure-" : "") + "martlet_" + name
    }

    private static func cookie(_ name: String, _ value: String, _ issuer: Issuer, maximumAgeInSeconds: Int? = nil)
        -> Cookie
    {
        Cookie(
            name: Self.name(name, issuer), value: value, maxAge: maximumAgeInSeconds, path: issuer.path,
            secure: issuer.isSecure, httpOnly: true,
            sameSite: .lax)
    }
}
