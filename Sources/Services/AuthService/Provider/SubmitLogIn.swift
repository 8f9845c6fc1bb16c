import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

/// Each sign-in starts a new session of the browser and ends the previous one.
struct SubmitLogIn: Endpoint {
    static let route = Route(
        .post, "/oidc/{app}/login", "submitLogIn", "Signs the user in to the provider with a password.",
        callers: .anyone,
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
        details: "Receives the form of the page for signing in. The query is that of the client's request.",
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
            .answer(200, "The page for consent.", .type("text/html", .string)),
            .answer(
                303,
                """
                A redirect to the client, with `state`, `iss` and either `code` or `error` and \
                `error_description`.
                """),
            .answer(
                400,
                """
                An error page: the client or its `redirect_uri` is unknown, or the request is invalid.
                """, .type("text/html", .string)),
            .answer(
                403,
                """
                The page for signing in again: the name, password or code is wrong, a code is required, the \
                address is not verified, or the form has expired.
                """, .type("text/html", .string)),
        ],
        errors: [404: "There is no app with this id (`not-found`)."])

    let flow: AuthorizationFlow
    let byPassword: PasswordSignIn
    let sessions: SessionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try await flow.answer(request, context) { clientRequest, issuer in
            let fields = try await FormFields(body: request)
            guard flow.cookies.isGenuine(.logIn, fields, request, session: nil, query: clientRequest.query, issuer)
            else {
                return flow.showLogIn(
                    clientRequest, request, issuer,
                    message: "This page has expired, or your browser blocks cookies. Please try again.",
                    status: .forbidden)
            }
            let name = fields["name"] ?? ""
            let session = NewSession(
                device: ProviderCookies.device, lifetimeInSeconds: ProviderCookies.sessionLifetimeInSeconds)
            let userID: UUID
            do {
                let attempt = PasswordSignIn.Attempt(
                    identity: try Self.identity(name), password: Secret(fields["password"] ?? ""), code: fields["code"],
                    address: try context.clientAddress(of: request))
                userID = try await byPassword.signIn(attempt, session: session, in: issuer.space).userID
            } catch let problem as ServiceError {
                return try showAgain(
                    clientRequest, request, issuer, name: name, asksForCode: fields["code"] != nil, problem)
            }
            if let former = try await flow.cookies.session(request, issuer) {
                try await sessions.end(former.session, of: .user(former.userID, issuer.space))
            }
            let browser = ClientSessionStore.Browser(
                session: session.id, userID: userID, userName: name,
                authenticated: Int64(flow.now().timeIntervalSince1970))
            var response = try await flow.continueFlow(clientRequest, request, as: browser, issuer)
            response.setCookie(flow.cookies.sessionCookie(session.id, issuer))
            return response
        }
    }

    /// User names never contain an `@`.
    private static func identity(_ name: String) throws -> UserIdentity {
        name.utf8.contains(UInt8(ascii: "@")) ? .email(try EmailAddress(name)) : .userName(try UserName(name))
    }

    private func showAgain(
        _ clientRequest: AuthorizationRequest, _ request: Request, _ issuer: Issuer, name: String, asksForCode: Bool,
        _ problem: ServiceError
    ) throws -> Response {
        switch problem.code {
        case .secondFactorRequired:
            return flow.showLogIn(
                clientRequest, request, issuer, name: name, asksForCode: true,
                message: "Enter your password again, and a code.", status: .forbidden)
        case .tooManyRequests:
            var response = flow.showLogIn(
                clientRequest, request, issuer, name: name, asksForCode: asksForCode,
                message: "Too many attempts. Please wait a little and try again.",
                status: .tooManyRequests)
            response.headers[.retryAfter] = String(problem.retryAfter ?? 1)
            return response
        // A malformed name belongs to no account.
        case .signInFailed, .invalidBody:
            return flow.showLogIn(
                clientRequest, request, issuer, name: name, asksForCode: asksForCode,
                message: ServiceError.passwordRefused.detail,
                status: .forbidden)
        case .forbidden:
            return flow.showLogIn(
                clientRequest, request, issuer, name: name,
                message: "Your e-mail address must be verified before you can sign in.", status: .forbidden)
        default: throw problem
        }
    }
}
