import Crypto
import Foundation
import Hummingbird
import MartletCore

/// The provider's cookies: one for the signed-in session, and one that ties a form to the browser it was sent to.
///
/// Cookies are limited to the issuer by their path. The prefix `__Host-`, which would keep other hosts of the domain
/// from setting them, does not allow a path, so `__Secure-` is used. A session cookie is accepted only if this service
/// made it. A form cookie may have any value of the right length, so another host of the domain could set one.
struct ProviderCookies: Sendable {
    static let sessionLifetimeInSeconds: Int64 = 14 * 86_400
    /// The device name of browser sessions in the user's list of sessions.
    static let device = "Browser"

    let sessions: ClientSessionStore
    let tokens: ProviderTokens
    let formKey: SymmetricKey

    /// The browser's session; nil if there is none or it has ended.
    func session(_ request: Request, _ issuer: Issuer) async throws -> ClientSessionStore.Browser? {
        guard let cookie = request.cookies[Self.name("session", issuer)],
            let token = tokens.content(of: cookie.value, .browser)
        else { return nil }
        return try await sessions.browser(token.session, in: issuer.space)
    }

    /// The cookie of a newly created session. Never use an id received from outside (session fixation).
    func sessionCookie(_ session: UUID, _ issuer: Issuer) -> Cookie {
        Self.cookie("session", tokens.token(.browser, .init(session: session, value: 0)), issuer)
    }

    /// A cookie that removes the cookie of an ended session.
    func noSessionCookie(_ issuer: Issuer) -> Cookie { Self.cookie("session", "", issuer, maximumAgeInSeconds: 0) }

    /// The value that this browser's forms are tied to, with the cookie to set if it is new.
    func formSecret(_ request: Request, _ issuer: Issuer) -> (value: String, new: Cookie?) {
        if let existing = request.cookies[Self.name("form", issuer)]?.value, existing.utf8.count == 43 {
            return (existing, nil)
        }
        let value = Secret.random().withValue { $0 }
        return (value, Self.cookie("form", value, issuer))
    }

    /// A token that proves that a form was sent to this browser, with its current session and for this request only
    /// (CSRF).
    ///
    /// - Parameter session: The browser's session; nil if the form does not require one.
    func formToken(_ form: Form, secret: String, session: UUID?, query: String, _ issuer: Issuer) -> String {
        Base64URL.encode(
            HMAC<SHA256>.authenticationCode(for: Self.bytes(form, secret, session, query, issuer), using: formKey))
    }

    /// Whether a submitted form carries the token with which the provider sent it to this browser.
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
