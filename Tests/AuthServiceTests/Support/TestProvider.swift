import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import AuthService

/// The OIDC provider of an app, with a client and browsers of users.
struct TestProvider: Sendable {
    static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    let users: UserClient
    var client: TestOAuthClient

    var path: String { "/oidc/" + users.app.id + (users.environment == .test ? "-test" : "") }
    var issuer: String { "http://127.0.0.1:8080" + path }

    /// Runs `body` with a provider that has a confidential client.
    static func run(_ body: @Sendable (TestProvider) async throws -> Void) async throws {
        try await UserClient.run { users in
            let provider = TestProvider(users: users, client: try await makeClient(users))
            // The key ring announces new apps.
            try await eventually("the provider is ready") {
                try await provider.visitor.get(provider.path + "/.well-known/openid-configuration").status == 200
            }
            try await body(provider)
        }
    }

    static func makeClient(
        _ users: UserClient, name: String = "Calendar", type: String = "confidential",
        redirectURI: String = "https://calendar.example/back",
        scopes: [String] = ["openid", "profile", "email", "offline_access"]
    ) async throws -> TestOAuthClient {
        let list = scopes.map { "\"\($0)\"" }.joined(separator: ",")
        let answer = try await users.master(
            "POST", "clients",
            #"{"name":"\#(name)","type":"\#(type)","redirectUris":["\#(redirectURI)"],"scopes":[\#(list)]}"#)
        try #require(answer.status == 201, "\(answer)")
        return TestOAuthClient(
            id: try #require(answer.string("id")), secret: answer.string("secret"), redirectURI: redirectURI)
    }

    func with(_ client: TestOAuthClient) -> TestProvider { TestProvider(users: users, client: client) }

    /// An authorization request of the client; nil removes a parameter.
    func request(_ changes: [String: String?] = [:]) -> String {
        var fields: [String: String?] = [
            "response_type": "code", "client_id": client.id, "redirect_uri": client.redirectURI,
            "scope": "openid profile email offline_access",
            "state": "s/1", "nonce": "n-1", "code_challenge": Self.challenge, "code_challenge_method": "S256",
        ]
        for (name, value) in changes { fields[name] = .some(value) }
        return FormFields.encode(fields.compactMap { name, value in value.map { (name, $0) } }.sorted { $0.0 < $1.0 })
    }

    func browser() -> TestBrowser { TestBrowser(provider: self) }

    /// Signs in, consents, and returns the code.
    func code(_ changes: [String: String?] = [:], name: String = "anna") async throws -> String {
        var browser = browser()
        let back = try await browser.signIn(request(changes), name: name)
        return try #require(back.parameters["code"], "\(back)")
    }

    /// A request of the client with its secret.
    func post(_ endpoint: String, _ fields: [String: String], basic: Bool = true) async throws -> Answer {
        var headers = ["content-type": "application/x-www-form-urlencoded"]
        var fields = fields
        if basic, let secret = client.secret {
            headers["authorization"] = "Basic " + Data("\(client.id):\(secret)".utf8).base64EncodedString()
        } else {
            fields["client_id"] = client.id
            if let secret = client.secret { fields["client_secret"] = secret }
        }
        return try await visitor.send(
            "POST", path + "/" + endpoint, FormFields.encode(fields.map { ($0.key, $0.value) }), headers: headers)
    }

    func exchange(_ code: String, _ changes: [String: String] = [:]) async throws -> Answer {
        let fields = [
            "grant_type": "authorization_code", "code": code, "redirect_uri": client.redirectURI,
            "code_verifier": Self.verifier,
        ]
        return try await post("token", fields.merging(changes) { $1 })
    }

    func refresh(_ token: String) async throws -> Answer {
        try await post("token", ["grant_type": "refresh_token", "refresh_token": token])
    }

    func userInfo(_ token: String, method: String = "GET") async throws -> Answer {
        try await visitor.send(method, path + "/userinfo", headers: ["authorization": "Bearer " + token])
    }

    /// Signs in as anna and exchanges the code.
    func tokens(_ changes: [String: String?] = [:]) async throws -> ProviderAnswer {
        try ProviderAnswer(try await exchange(try await code(changes)))
    }

    var visitor: ServiceClient { users.auth.gateway.acting(as: .visitor) }
}

struct TestOAuthClient: Sendable {
    var id: String
    var secret: String?
    var redirectURI: String
}

struct ProviderAnswer: Sendable {
    let access: String
    let refresh: String?
    let id: String?

    init(_ answer: Answer) throws {
        try #require(answer.status == 200, "\(answer)")
        access = try #require(answer.string("access_token"))
        refresh = answer.string("refresh_token")
        id = answer.string("id_token")
    }
}

/// A user's browser: keeps cookies and sends forms, but does not follow redirects.
struct TestBrowser: Sendable {
    let provider: TestProvider
    var cookies: [String: String] = [:]
    var setCookies: [String] = []
    var address = "0:9"

    mutating func send(_ method: String, _ path: String, form: [String: String]? = nil) async throws -> Answer {
        var headers = [HeaderName.address: address]
        if !cookies.isEmpty { headers["cookie"] = cookies.map { "\($0.key)=\($0.value)" }.joined(separator: "; ") }
        if form != nil { headers["content-type"] = "application/x-www-form-urlencoded" }
        let answer = try await provider.visitor.send(
            method, provider.path + "/" + path, form.map { FormFields.encode($0.map { ($0.key, $0.value) }) },
            headers: headers)
        setCookies = answer.header("set-cookie")?.components(separatedBy: ", ") ?? []
        for cookie in setCookies {
            let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            cookies[String(pair[0])] = pair.count > 1 ? String(pair[1]) : ""
        }
        return answer
    }

    mutating func authorize(_ query: String) async throws -> Answer { try await send("GET", "authorize?" + query) }

    mutating func logIn(_ page: Answer, name: String = "anna", password: String = "correct horse", code: String? = nil)
        async throws -> Answer
    {
        var form = ["name": name, "password": password]
        form["code"] = code
        return try await submit(page, form)
    }

    /// Submits the page's form with its values and `fields`.
    mutating func submit(_ page: Answer, _ fields: [String: String]) async throws -> Answer {
        let action = String(try #require(page.text.firstMatch(of: /action="([^"]+)"/)?.1, "\(page)"))
        let token = try #require(page.text.firstMatch(of: /name="form_token" value="([^"]+)"/)?.1, "\(page)")
        return try await send(
            "POST", action.replacing("&amp;", with: "&"), form: fields.merging(["form_token": String(token)]) { $1 })
    }

    /// Signs in and consents on the provider's pages; returns the redirect to the client.
    mutating func signIn(_ query: String, name: String = "anna") async throws -> Answer {
        var answer = try await authorize(query)
        if answer.text.contains("name=\"password\"") { answer = try await logIn(answer, name: name) }
        if answer.text.contains("name=\"decision\"") { answer = try await submit(answer, ["decision": "allow"]) }
        try #require(answer.status == 303, "\(answer)")
        return answer
    }
}

extension Answer {
    var isPage: Bool { header("content-type") == "text/html; charset=utf-8" }

    /// The target of a redirect, if any.
    var location: String? { header("location") }

    /// The query parameters of the redirect's target.
    var parameters: [String: String] {
        let items = location.flatMap { URLComponents(string: $0) }?.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
    }

    func isOAuthError(_ code: String, status: Int = 400) -> Bool {
        self.status == status && string("error") == code && header("cache-control") == "no-store"
    }
}
