import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// `POST /oidc/{app}/login` with the client's request in the query and the form of the page to sign in.
///
/// Every sign-in begins a new session of the browser and ends the one before.
struct SubmitLogIn: Endpoint {
    static let route = Route(
        .post, "/oidc/{app}/login", "submitLogIn", "The form of the page to sign in.", callers: .anyone,
        parameters: [
            .query("response_type", .constant("code"), isRequired: true),
            .query("client_id", .uuid, isRequired: true),
            .query("redirect_uri", .uri, isRequired: true),
            .query("scope", .string.examples("openid profile email offline_access"), isRequired: true),
            .query("state"),
            .query("nonce", .string.maxLength(1_000)),
            .query("code_challenge", .string.length(43, 43), isRequired: true),
            .query("code_challenge_method", .constant("S256"), isRequired: true),
            .query("prompt"),
            .query("max_age", .integer.minimum(0)),
            .query("login_hint"),
        ],
        checksOwnQuery: true,
        body: .contents(
            .type(
                "application/x-www-form-urlencoded",
                .object(
                    [
                        "form_token": .string,
                        "name": .string,
                        "password": .string.format("password"),
                        "code": .string,
                    ], required: ["form_token", "name", "password"]))),
        answers: [
            .answer(200, "A page.", .type("text/html", .string)),
            .answer(
                303,
                """
                Back to the client, with `code`, `state` and `iss`, or with `error`, `error_description`, `state` \
                and `iss`.
                """),
            .answer(400, "A page: the client or its address is not known.", .type("text/html", .string)),
            .answer(
                403,
                """
                The page again: what was entered is wrong, a code is needed, or the form is not this browser's.
                """, .type("text/html", .string)),
        ],
        errors: [404: "Not found."])

    let flow: AuthorizationFlow
    let byPassword: PasswordSignIn
    let sessions: SessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try await flow.answer(request, context) { asked, issuer in
            let fields = try await FormFields(body: request)
            guard flow.browsers.isGenuine(.logIn, fields, request, session: nil, query: asked.query, issuer) else {
                return flow.showLogIn(
                    asked, request, issuer,
                    message: "This page was too old, or your browser keeps no cookies. Please try again.",
                    status: .forbidden)
            }
            let name = fields["name"] ?? ""
            let session = NewSession(device: Browsers.device, lifetimeInSeconds: Browsers.sessionLifetimeInSeconds)
            let userID: UUID
            do {
                let attempt = PasswordSignIn.Attempt(
                    identity: try Self.identity(name), password: Secret(fields["password"] ?? ""), code: fields["code"],
                    address: try context.clientAddress(of: request))
                userID = try await byPassword.signIn(attempt, session: session, in: issuer.space).userID
            } catch let problem as HTTPProblem {
                return try showAgain(asked, request, issuer, name: name, asksForCode: fields["code"] != nil, problem)
            }
            if let former = try await flow.browsers.session(request, issuer) {
                try await sessions.end(former.session, of: former.userID, in: issuer.space)
            }
            let browser = ClientSessionStore.Browser(
                session: session.id, userID: userID, userName: name, authenticated: Int64(Date().timeIntervalSince1970))
            var response = try await flow.goOn(asked, request, as: browser, issuer)
            response.setCookie(flow.browsers.sessionCookie(session.id, issuer))
            return response
        }
    }

    /// No user name has an `@` in it.
    private static func identity(_ name: String) throws -> UserIdentity {
        name.utf8.contains(UInt8(ascii: "@")) ? .email(try EmailAddress(name)) : .userName(try UserName(name))
    }

    private func showAgain(
        _ asked: AuthorizationRequest, _ request: Request, _ issuer: Issuer, name: String, asksForCode: Bool,
        _ problem: HTTPProblem
    ) throws -> Response {
        switch problem.code {
        case .secondFactorRequired:
            return flow.showLogIn(
                asked, request, issuer, name: name, asksForCode: true,
                message: "Enter your password once more, and a code.", status: .forbidden)
        case .tooManyRequests:
            var response = flow.showLogIn(
                asked, request, issuer, name: name, asksForCode: asksForCode,
                message: "Too many attempts. Please wait a little and try again.",
                status: .tooManyRequests)
            response.headers[.retryAfter] = problem.headers[.retryAfter] ?? "1"
            return response
        // What is no name is nobody's.
        case .signInFailed, .invalidBody:
            return flow.showLogIn(
                asked, request, issuer, name: name, asksForCode: asksForCode,
                message: HTTPProblem.passwordRefused.detail,
                status: .forbidden)
        case .forbidden:
            return flow.showLogIn(
                asked, request, issuer, name: name,
                message: "Your e-mail address has to be verified before you can sign in.", status: .forbidden)
        default: throw problem
        }
    }
}
