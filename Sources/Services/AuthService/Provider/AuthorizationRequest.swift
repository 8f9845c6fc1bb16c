import Foundation
import MartletCore

/// A client's authorization request, sent through the browser (RFC 6749 §4.1.1, RFC 7636 §4.3, OpenID Connect Core 1.0
/// §3.1.2.1).
struct AuthorizationRequest: Sendable {
    enum Prompt: String {
        case none, login, consent
        case selectAccount = "select_account"
    }

    let client: OAuthClient
    /// One of the client's registered URIs.
    let redirectURI: String
    /// Never empty.
    let scopes: [ProviderScope]
    let state: String?
    let nonce: String?
    /// The PKCE challenge, S256.
    let challenge: String
    let prompts: Set<Prompt>
    /// The maximum number of seconds since the user signed in.
    let maximumAge: Int64?
    let loginHint: String?
    /// The whole request as text. It is repeated in the URLs of forms and validated again each time.
    let query: String
    /// The same request with `prompt=login`.
    let queryForAnotherUser: String

    /// Where an error can be reported to the client.
    struct Target: Sendable {
        let client: OAuthClient
        let redirectURI: String
        let state: String?
    }

    /// A refusal and its target. Without a target only the person at the browser sees it, because a redirect would be
    /// an open redirect (RFC 6749 §4.1.2.1).
    struct Refusal: Error {
        let error: OAuthError
        let target: Target?
    }

    /// - Throws: `Refusal`.
    init(query text: String, of clients: ClientStore, in space: AppSpace) async throws {
        let (fields, target) = try await Self.target(text, clients, space)
        do {
            try self.init(fields, target)
        } catch let error as OAuthError {
            throw Refusal(error: error, target: target)
        }
    }

    private static func target(_ text: String, _ clients: ClientStore, _ space: AppSpace) async throws -> (
        FormFields, Target
    ) {
        func refusal(_ code: OAuthError.Code, _ description: String) -> Refusal {
            Refusal(error: OAuthError(code, description), target: nil)
        }
        let fields: FormFields
        do {
            fields = try FormFields(text)
        } catch let error as OAuthError {
            throw Refusal(error: error, target: nil)
        }
        guard let id = fields["client_id"].flatMap({ UUID(uuidString: $0) }),
            let client = try await clients.find(id, in: space)
        else {
            throw refusal(.invalidRequest, "The application that sent you here is unknown (client_id).")
        }
        guard let redirectURI = fields["redirect_uri"], client.redirectURIs.contains(where: { $0.matches(redirectURI) })
        else {
            throw refusal(.invalidRequest, "The return address is not registered for the application (redirect_uri).")
        }
        return (fields, Target(client: client, redirectURI: redirectURI, state: fields["state"]))
    }

    private init(_ fields: FormFields, _ target: Target) throws {
        client = target.client
        redirectURI = target.redirectURI
        state = target.state
        guard fields["request"] == nil else {
            throw OAuthError(.requestNotSupported, "Send parameters, not a request object.")
        }
        guard fields["request_uri"] == nil else {
            throw OAuthError(.requestURINotSupported, "Send parameters, not a request URI.")
        }
        guard fields["registration"] == nil else {
            throw OAuthError(.registrationNotSupported, "Clients are registered by the app's server.")
        }
        guard fields["response_type"] == "code" else {
            throw OAuthError(.unsupportedResponseType, "Expected code as response_type.")
        }
        guard fields["response_mode"] ?? "query" == "query" else {
            throw OAuthError(.invalidRequest, "Expected query as response_mode.")
        }
        guard let challenge = fields["code_challenge"], fields["code_challenge_method"] == "S256",
            Self.isChallenge(challenge)
        else {
            throw OAuthError(.invalidRequest, "PKCE is required: code_challenge with code_challenge_method S256.")
        }
        self.challenge = challenge
        scopes = [ProviderScope](list: fields["scope"] ?? "").filter(client.scopes.contains)
        guard !scopes.isEmpty else {
            throw OAuthError(.invalidScope, "None of the requested scopes is allowed for this client.")
        }
        let prompts = try (fields["prompt"] ?? "").split(separator: " ").map { word in
            guard let prompt = Prompt(rawValue: String(word)) else {
                throw OAuthError(.invalidRequest, "prompt has an unknown value.")
            }
            return prompt
        }
        self.prompts = Set(prompts)
        guard !self.prompts.contains(.none) || self.prompts.count == 1 else {
            throw OAuthError(.invalidRequest, "prompt must not combine none with other values.")
        }
        maximumAge = try fields["max_age"].map { text in
            guard let seconds = Int64(text), seconds >= 0 else {
                throw OAuthError(.invalidRequest, "Expected a number of seconds as max_age.")
            }
            return seconds
        }
        nonce = fields["nonce"]
        guard (nonce ?? "").utf8.count <= 1_000 else {
            throw OAuthError(.invalidRequest, "nonce is longer than 1000 bytes.")
        }
        loginHint = fields["login_hint"]
        query = fields.encoded
        queryForAnotherUser = fields.setting("prompt", Prompt.login.rawValue).encoded
    }

    /// Whether the text is a SHA-256 in base64url.
    private static func isChallenge(_ text: String) -> Bool {
        text.utf8.count == 43
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
