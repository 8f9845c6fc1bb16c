import Crypto
import CryptoExtras
import Foundation
import Hummingbird
import HummingbirdTesting
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import Synchronization
import Testing

@testable import AuthService

/// A signing key of an issuer.
struct IssuerKey: Sendable {
    enum Pair: Sendable {
        case rsa(_RSA.Signing.PrivateKey)
        case p256(P256.Signing.PrivateKey)
        case ed25519(Curve25519.Signing.PrivateKey)
    }

    var id: String
    var pair: Pair

    static let rsa = IssuerKey(id: "rsa-1", pair: .rsa(rsaPair))
    private static let rsaPair = (try? _RSA.Signing.PrivateKey(keySize: .bits2048))!

    static func p256(_ id: String = "ec-1") -> IssuerKey { IssuerKey(id: id, pair: .p256(P256.Signing.PrivateKey())) }
    static func ed25519(_ id: String = "ed-1") -> IssuerKey {
        IssuerKey(id: id, pair: .ed25519(Curve25519.Signing.PrivateKey()))
    }

    var algorithm: String {
        switch pair {
        case .rsa: "RS256"
        case .p256: "ES256"
        case .ed25519: "EdDSA"
        }
    }

    func sign(_ text: String) throws -> String {
        let data = Data(text.utf8)
        return switch pair {
        case .rsa(let key):
            Base64URL.encode(
                try key.signature(for: SHA256.hash(data: data), padding: .insecurePKCS1v1_5).rawRepresentation)
        case .p256(let key): Base64URL.encode(try key.signature(for: data).rawRepresentation)
        case .ed25519(let key): Base64URL.encode(try key.signature(for: data))
        }
    }

    /// RFC 7517, without `alg`, which is optional.
    func jwk() throws -> String {
        switch pair {
        case .rsa(let key):
            let numbers = try key.publicKey.getKeyPrimitives()
            let (n, e) = (Base64URL.encode(numbers.modulus), Base64URL.encode(numbers.publicExponent))
            return #"{"kty":"RSA","use":"sig","kid":"\#(id)","n":"\#(n)","e":"\#(e)"}"#
        case .p256(let key):
            let point = key.publicKey.rawRepresentation
            return
                #"{"kty":"EC","crv":"P-256","kid":"\#(id)","x":"\#(Base64URL.encode(point.prefix(32)))","y":"\#(Base64URL.encode(point.suffix(32)))"}"#
        case .ed25519(let key):
            return
                #"{"kty":"OKP","crv":"Ed25519","kid":"\#(id)","x":"\#(Base64URL.encode(key.publicKey.rawRepresentation))"}"#
        }
    }
}

/// An identity provider in this process: OpenID Connect, and the variants of GitHub, Facebook and Apple.
final class FakeProvider: Sendable {
    /// A user's consent, until it is fetched with the code.
    struct Grant: Sendable {
        var query: [String: String]
        var claims: [String: String]
    }

    struct State: Sendable {
        var port = 0
        var keys = [IssuerKey.rsa]
        var keyFetches = 0
        var isUnavailable = false
        var grants: [String: Grant] = [:]
        /// Requests to the token endpoint, and their Authorization headers.
        var tokenRequests: [[String: String]] = []
        var revocations: [[String: String]] = []
        /// The number of further revocations to refuse.
        var refusedRevocations = 0
        /// JSON of the user endpoint, and of GitHub's list of addresses.
        var user = #"{"sub":"s-1"}"#
        var emails = "[]"
        /// Replaces claims in the ID tokens of the code flow.
        var forgedClaims: [String: String] = [:]
    }

    let state = Mutex(State())

    var url: String { "http://localhost:\(state.withLock { $0.port })" }

    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
    func look<Value>(_ body: (State) -> Value) -> Value { state.withLock { body($0) } }

    /// Runs `body` with an app and a provider to sign in with.
    static func run(_ body: @Sendable (UserClient, FakeProvider) async throws -> Void) async throws {
        let provider = FakeProvider()
        try await Application(router: provider.router(), logger: .silent).test(.live) { live in
            let port = try #require(live.port)
            provider.change { $0.port = port }
            try await UserClient.run { client in try await body(client, provider) }
        }
    }

    /// An ID token. Values are JSON; `""` removes a claim.
    func token(_ changes: [String: String] = [:], key: IssuerKey = .rsa, header: String? = nil) throws -> String {
        let now = Int(Date().timeIntervalSince1970)
        var claims = [
            "iss": "\"\(url)\"", "sub": #""s-1""#, "aud": #""ios.app""#, "iat": "\(now)", "exp": "\(now + 3_600)",
            "jti": "\"\(UUID())\"",
        ]
        claims.merge(changes) { $1 }
        let payload =
            "{" + claims.filter { $0.value != "" }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
        let head = header ?? #"{"alg":"\#(key.algorithm)","kid":"\#(key.id)","typ":"JWT"}"#
        let text = "\(Base64URL.encode(head.utf8)).\(Base64URL.encode(payload.utf8))"
        return "\(text).\(try key.sign(text))"
    }

    /// Simulates the user's consent in the browser.
    ///
    /// - Returns: The code with which the user is redirected.
    func approve(_ url: String, _ claims: [String: String] = [:]) throws -> String {
        let query = try fields(inQueryOf: url)
        let code = "code-\(UUID())"
        state.withLock { $0.grants[code] = Grant(query: query, claims: claims) }
        return code
    }

    // MARK: Endpoints

    private func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.get("/.well-known/openid-configuration") { _, _ in try self.discovery() }
        router.get("/keys") { _, _ in try self.keySet() }
        router.post("/token") { request, _ in try await self.tokens(request) }
        router.post("/revoke") { request, _ in try await self.revoke(request) }
        router.get("/user") { request, _ in try self.userInfo(request, \.user) }
        router.get("/emails") { request, _ in try self.userInfo(request, \.emails) }
        return router
    }

    private func discovery() throws -> Response {
        if look(\.isUnavailable) { return Response(status: .serviceUnavailable) }
        return json(
            """
            {"issuer":"\(url)","authorization_endpoint":"\(url)/authorize","token_endpoint":"\(url)/token","jwks_uri":"\(url)/keys",
            "userinfo_endpoint":"\(url)/user","revocation_endpoint":"\(url)/revoke"}
            """)
    }

    private func keySet() throws -> Response {
        change { $0.keyFetches += 1 }
        if look(\.isUnavailable) { return Response(status: .serviceUnavailable) }
        // A key for another purpose, which jwt-kit cannot read.
        let other = #"{"kty":"RSA","use":"enc","alg":"RSA-OAEP-256","kid":"rsa-1","n":"AQ","e":"AQAB"}"#
        return json("{\"keys\":[\(other),\(try look(\.keys).map { try $0.jwk() }.joined(separator: ","))]}")
    }

    private func tokens(_ request: Request) async throws -> Response {
        let text = String(buffer: try await request.body.collect(upTo: 65_536))
        var form = try #require(FormBody.decode(text))
        form["authorization"] = request.headers[.authorization]
        let (complete, code) = (form, form["code"] ?? "")
        let grant = state.withLock { state in
            state.tokenRequests.append(complete)
            return state.grants.removeValue(forKey: code)
        }
        guard let grant, form["redirect_uri"] == grant.query["redirect_uri"],
            form["grant_type"] == "authorization_code",
            grant.query["code_challenge"].map({ $0 == CodeChallenge.s256(form["code_verifier"] ?? "") }) ?? true
        else { return json(#"{"error":"invalid_grant"}"#, status: .badRequest) }
        var claims = grant.claims
        claims["aud"] = claims["aud"] ?? grant.query["client_id"].map { "\"\($0)\"" } ?? #""ios.app""#
        if let nonce = grant.query["nonce"] { claims["nonce"] = "\"\(nonce)\"" }
        claims.merge(look(\.forgedClaims)) { $1 }
        return json(
            #"{"access_token":"at-1","token_type":"Bearer","refresh_token":"rt-1","id_token":"\#(try token(claims))"}"#)
    }

    private func revoke(_ request: Request) async throws -> Response {
        let text = String(buffer: try await request.body.collect(upTo: 65_536))
        let form = try #require(FormBody.decode(text))
        let isRefused = state.withLock { state in
            if state.refusedRevocations > 0 {
                state.refusedRevocations -= 1
                return true
            }
            state.revocations.append(form)
            return false
        }
        return isRefused ? json(#"{"error":"temporarily_unavailable"}"#, status: .serviceUnavailable) : json("{}")
    }

    private func userInfo(_ request: Request, _ content: (State) -> String) throws -> Response {
        guard request.headers[.authorization] == "Bearer at-1" else { return Response(status: .unauthorized) }
        return json(look(content))
    }

    private func json(_ text: String, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}

extension UserClient {
    /// Registers `provider` with the app, as a provider of the given kind.
    func register(
        _ provider: FakeProvider, _ name: String = "acme", kind: String = "oidc", nonceRequired: Bool = false,
        more: String = ""
    ) async throws {
        let key = try await auth.credentials.create(.client, environment: environment, label: "", of: app.id).text
        let isDiscovered = ["oidc", "google", "apple"].contains(kind)
        let endpoints =
            isDiscovered
            ? ""
            : #","endpoints":{"authorization":"\#(provider.url)/authorize","token":"\#(provider.url)/token","userInfo":"\#(provider.url)/user","emails":"\#(provider.url)/emails","keys":"\#(provider.url)/keys"}"#
        let answer = try await master(
            "PUT", "providers/\(name)",
            """
            {"kind":"\(kind)","clientIDs":["ios.app","web.app"],"redirectURLs":["com.example.shop:/signed-in","https://shop.example.org/in?x=1"],
            "issuer":"\(provider.url)","nonceRequired":\(nonceRequired),"appKey":"\(key.withValue { $0 })"\(endpoints)\(kind == "apple" ? "" : #","clientSecret":"s3cret""#)\(more)}
            """)
        try #require(answer.status == 200, "\(answer)")
        #expect(!answer.text.contains("s3cret"))
    }

    /// - Returns: The recovery codes.
    func addSecondFactor(of user: Tokens, password: String = "correct horse") async throws -> [String] {
        let begun = try await send("POST", "me/totp", #"{"password":"\#(password)"}"#, as: user)
        let code = SecondFactorTests.code(SecondFactorTests.decodeBase32(try #require(begun.string("secret"))), 0)
        let confirmed = try await send("POST", "me/totp/confirm", #"{"code":"\#(code)"}"#, as: user)
        return try (0..<10).map { try #require(confirmed.string("recoveryCodes.\($0)"), "\(confirmed)") }
    }

    func signIn(idToken: String, _ name: String = "acme", more: String = "") async throws -> Answer {
        try await send("POST", "idtoken", #"{"provider":"\#(name)","idToken":"\#(idToken)"\#(more)}"#)
    }

    /// Simulates the provider's redirect.
    func callBack(_ parameters: [(String, String)], posting: Bool = false, of app: App? = nil) async throws -> Answer {
        let app = app ?? self.app
        let principal = Principal(
            kind: .link, appID: app.id, appNumber: app.number, environment: environment, credentialID: "c")
        let text = FormBody.encode(parameters)
        let gateway = auth.gateway.acting(as: principal)
        guard posting else { return try await gateway.send("GET", "/auth/oauth/callback?" + text) }
        return try await gateway.send(
            "POST", "/auth/oauth/callback", text, headers: ["content-type": "application/x-www-form-urlencoded"])
    }

    static let codeVerifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

    /// RFC 7636 appendix B.
    func begin(_ name: String = "acme", redirectURL: String = "com.example.shop:/signed-in") async throws -> (
        url: String, state: String
    ) {
        let answer = try await send(
            "POST", "oauth/\(name)/start",
            #"{"redirectURL":"\#(redirectURL)","codeChallenge":"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}"#)
        try #require(answer.status == 200, "\(answer)")
        return (try #require(answer.string("url")), try #require(answer.string("state")))
    }

    /// Simulates the user's sign-in at the provider; returns the parameters of the redirect to the app.
    func consent(at provider: FakeProvider, _ name: String = "acme", _ claims: [String: String] = [:]) async throws
        -> [String: String]
    {
        let (url, state) = try await begin(name)
        let back = try await callBack([("code", try provider.approve(url, claims)), ("state", state)])
        try #require(back.status == 303, "\(back)")
        return try back.appRedirect()
    }

    func finish(_ code: String?, verifier: String = codeVerifier, more: String = "") async throws -> Answer {
        try await send("POST", "oauth/finish", #"{"code":"\#(code ?? "")","codeVerifier":"\#(verifier)"\#(more)}"#)
    }
}

/// The query of a URL as a form.
func fields(inQueryOf url: String) throws -> [String: String] {
    let query = try #require(url.split(separator: "?").last)
    return try #require(FormBody.decode(query))
}

extension Answer {
    /// The parameters of the redirect to the app.
    func appRedirect() throws -> [String: String] {
        let location = try #require(header("location"))
        #expect(location.hasPrefix("com.example.shop:/signed-in?"), "\(location)")
        #expect(header("cache-control") == "no-store" && header("referrer-policy") == "no-referrer")
        return try fields(inQueryOf: location)
    }
}
