public import Foundation

/// A way to sign in, with its proof of identity.
public struct Credential: Sendable {
    let path: String
    let body: [String: JSON]
    /// The member in which the call takes a code of the second factor.
    let secondFactorName: String

    private init(_ path: String, _ body: [String: JSON?], secondFactorName: String = "code") {
        self.path = path
        self.body = body.compactMapValues { $0 }
        self.secondFactorName = secondFactorName
    }

    public static func password(_ password: String, userName: String) -> Credential {
        Credential("auth/login", ["userName": .string(userName), "password": .string(password)])
    }

    public static func password(_ password: String, email: String) -> Credential {
        Credential("auth/login", ["email": .string(email), "password": .string(password)])
    }

    /// The code or link from a mail. See ``Users/sendSignInMail(to:language:link:)``.
    public static func mail(_ proof: MailProof) -> Credential { Credential("auth/login/mail/confirm", proof.body) }

    /// A token that the provider's own sign-in gave the app, for example Sign in with Apple.
    ///
    /// - Parameters:
    ///   - provider: Its name in the app's settings, for example `apple`.
    ///   - nonce: The nonce whose ``Nonce/sha256`` was sent to the provider.
    ///   - authorizationCode: Apple's code, with which Apple's token can be revoked when the account is deleted.
    ///   - name: The user's name as given by Apple, which only the app receives.
    public static func idToken(
        _ token: String, provider: String, nonce: Nonce? = nil, authorizationCode: String? = nil, name: String? = nil
    ) -> Credential {
        Credential(
            "auth/idtoken",
            [
                "provider": .string(provider), "idToken": .string(token), "nonce": (nonce?.value).map(JSON.string),
                "authorizationCode": authorizationCode.map(JSON.string), "name": name.map(JSON.string),
            ], secondFactorName: "secondFactorCode")
    }

    /// The address with which the provider's page opened the app.
    ///
    /// - Throws: ``MartletError/Code/signInFailed`` if the user cancelled or the address belongs to another sign-in.
    public static func provider(_ signIn: ProviderSignIn, callback: URL) throws -> Credential {
        let items = URLComponents(url: callback, resolvingAgainstBaseURL: false)?.queryItems ?? []
        let values = Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
        guard values["state"] == signIn.state, let code = values["code"] else {
            let reason = values["error"].map { "The provider answered: \($0)." }
            throw MartletError(.signInFailed, reason ?? "The address belongs to another sign-in.")
        }
        return Credential(
            "auth/oauth/finish", ["code": .string(code), "codeVerifier": .string(signIn.verifier)],
            secondFactorName: "secondFactorCode")
    }

    /// The result of the platform's passkey API, as `PublicKeyCredential.toJSON()`. See
    /// ``Users/passkeys``.
    public static func passkey(_ credential: JSON) -> Credential {
        Credential("auth/passkeys/login", ["credential": credential])
    }
}

/// Proof that the user received a mail.
public struct MailProof: Sendable {
    let body: [String: JSON?]

    /// The token of the link.
    public static func token(_ token: String) -> MailProof { MailProof(body: ["token": .string(token)]) }

    /// The eight digits, and the address to which they were sent.
    public static func code(_ code: String, email: String) -> MailProof {
        MailProof(body: ["mailCode": .string(code), "email": .string(email)])
    }
}

/// A random value that ties a provider's token to this sign-in. Give ``sha256`` to the provider.
public struct Nonce: Sendable, Hashable {
    public let value = Data.random(count: 24).base64URL

    public init() {}

    /// In hexadecimal digits.
    public var sha256: String { SHA256Digest.hexadecimal(Data(value.utf8)) }
}

/// A sign-in on a provider's page. Open ``url`` with `ASWebAuthenticationSession` or a browser.
public struct ProviderSignIn: Sendable, Codable {
    public let url: URL
    public let state: String
    let verifier: String
}
