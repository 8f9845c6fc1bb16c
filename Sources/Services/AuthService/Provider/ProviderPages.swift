import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import MartletHTTP
import MartletMail

/// The provider's pages: without scripts and external content, not to be framed or cached.
enum ProviderPages {
    /// - Parameters:
    ///   - name: The initial content of the name field.
    ///   - message: Why the form is shown again.
    static func logIn(
        _ request: AuthorizationRequest, _ issuer: Issuer, token: String, name: String, asksForCode: Bool = false,
        message: String? = nil,
        status: HTTPResponse.Status = .ok
    ) -> Response {
        let code: HTML = """
            <label for="code">Code of your authenticator app, or a recovery code</label>
            <input id="code" name="code" autocomplete="one-time-code" autocapitalize="none" maxlength="64" required>
            """
        let content: HTML = """
            <h1>Sign in to \(issuer.appName)</h1>
            <p>to continue to <strong>\(request.client.name)</strong></p>
            \(message.map { "<p class=\"message\" role=\"alert\">\($0)</p>" as HTML })
            <form method="post" action="login?\(request.query)">
            <input type="hidden" name="form_token" value="\(token)">
            <label for="name">User name or e-mail address</label>
            <input id="name" name="name" value="\(name)" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="254" required>
            <label for="password">Password</label>
            <input id="password" name="password" type="password" autocomplete="current-password" maxlength="1000" required>
            \(asksForCode ? code : nil)
            <button>Sign in</button>
            </form>
            """
        return page("Sign in", content, redirectURI: request.redirectURI, status: status)
    }

    static func consent(_ request: AuthorizationRequest, _ issuer: Issuer, token: String, userName: String) -> Response
    {
        let scopes = HTML.joined(request.scopes.map { "<li>\($0.label)</li>" })
        let content: HTML = """
            <h1>\(request.client.name)</h1>
            <p>asks you, <strong>\(userName)</strong> of \(issuer.appName), to let it</p>
            <ul>\(scopes)</ul>
            <form method="post" action="consent?\(request.query)">
            <input type="hidden" name="form_token" value="\(token)">
            <button name="decision" value="allow">Allow</button>
            <button name="decision" value="deny" class="second">Cancel</button>
            </form>
            <p><a href="authorize?\(request.queryForAnotherUser)">Use another account</a></p>
            """
        return page("Allow access", content, redirectURI: request.redirectURI)
    }

    static func logOut(_ request: LogOutRequest, _ issuer: Issuer, token: String, userName: String) -> Response {
        let content: HTML = """
            <h1>Sign out of \(issuer.appName)?</h1>
            <p>You are signed in as <strong>\(userName)</strong>. Applications that have access when you are away keep it.</p>
            <form method="post" action="logout/confirm?\(request.query)">
            <input type="hidden" name="form_token" value="\(token)">
            <button>Sign out</button>
            </form>
            """
        return page("Sign out", content, redirectURI: request.redirectURI)
    }

    static func signedOut(_ issuer: Issuer) -> Response {
        page("Signed out", "<h1>You are signed out of \(issuer.appName)</h1><p>You can close this page.</p>")
    }

    /// For errors that cannot be reported to the client because it is unknown.
    static func failure(_ error: OAuthError) -> Response {
        let content: HTML =
            "<h1>This request failed</h1><p>\(error.description)</p><p><code>\(error.code.rawValue)</code></p>"
        return page("This request failed", content, status: .badRequest)
    }

    private static func page(
        _ title: String, _ content: HTML, redirectURI: String? = nil, status: HTTPResponse.Status = .ok
    ) -> Response {
        let page: HTML = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title)</title>
            <style>\(style)</style>
            </head>
            <body><main>
            \(content)
            </main></body>
            </html>

            """
        // Browsers also apply `form-action` to redirects after a form.
        let policy =
            "default-src 'none'; style-src '\(styleHash)'; form-action 'self'\(redirectURI.map { " " + sources(of: $0) } ?? ""); "
            + "frame-ancestors 'none'; base-uri 'none'"
        return Response(
            status: status,
            headers: [
                .contentType: "text/html; charset=utf-8", .cacheControl: "no-store", .contentSecurityPolicy: policy,
                .xContentTypeOptions: "nosniff", .frameOptions: "DENY", .referrerPolicy: "no-referrer",
            ],
            body: .init(byteBuffer: ByteBuffer(string: page.text)))
    }

    /// The sources that a form may lead to: the client's URI, and any https URL, because a web client may redirect the
    /// browser further.
    private static func sources(of redirectURI: String) -> String {
        if redirectURI.hasPrefix("https://") { return "https:" }
        guard redirectURI.hasPrefix("http://") else { return "https: \(redirectURI.prefix { $0 != ":" }):" }
        return "https: http://\(redirectURI.dropFirst("http://".count).prefix { $0 != "/" && $0 != "?" })"
    }

    private static let style: HTML = """
        :root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0}main{max-width:22rem;margin:10vh auto;padding:0 1rem}\
        h1{font-size:1.4rem;margin:0}label{display:block;margin:1rem 0 .2rem}input{box-sizing:border-box;width:100%;padding:.6rem;font:inherit}\
        button{width:100%;margin-top:1rem;padding:.7rem;font:inherit;border:0;border-radius:.4rem;background:#1a5fb4;color:#fff}\
        .second{background:#5e5c64}.message{color:#c01c28}
        """

    private static let styleHash = "sha256-" + Data(SHA256.hash(data: Data(style.text.utf8))).base64EncodedString()
}

extension HTTPField.Name {
    fileprivate static let frameOptions = HTTPField.Name("X-Frame-Options")!
    static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
}
