public import Foundation

/// The outcome of signing up.
public enum SignUpOutcome: Sendable, Hashable {
    case signedIn(User)
    /// The app requires a verified address: the user has to confirm the mail, and then to sign in.
    case needsVerification
}

extension Users {
    /// Creates an account with a password and signs in.
    ///
    /// - Parameters:
    ///   - userName: 2 to 64 of `a-z 0-9 . _ -`. A user needs a name, an address, or both.
    ///   - profile: What everybody may see.
    ///   - private: What only the user and your server may see.
    ///   - invitation: A code, if the app is invite-only.
    ///   - language: The language of mail to the user.
    /// - Throws: ``MartletError/Code/conflict`` if the name or address is taken.
    @discardableResult
    public func signUp(
        userName: String? = nil, email: String? = nil, password: String, profile: JSON? = nil, private: JSON? = nil,
        invitation: String? = nil, language: String? = nil
    ) async throws -> SignUpOutcome {
        let body = JSON.members([
            "userName": userName.map(JSON.string), "email": email.map(JSON.string), "password": .string(password),
            "profile": profile, "private": `private`, "invitation": invitation.map(JSON.string),
            "language": language.map(JSON.string), "device": deviceName,
        ])
        return try await outcome(callAsApp("POST", "auth/signup", body))
    }

    func outcome(_ answer: JSON) async throws -> SignUpOutcome {
        answer["accessToken"] == nil ? .needsVerification : .signedIn(try await begin(answer))
    }

    /// Signs in with a password, a mail, a provider's token or a passkey.
    ///
    /// - Parameter secondFactor: A code of the authenticator app, or a recovery code. Ask for it when the call throws
    ///   ``MartletError/Code/secondFactorRequired``, and repeat the call with it.
    /// - Throws: ``MartletError/Code/signInFailed`` if the credential is wrong. After several failures
    ///   ``MartletError/Code/tooManyRequests`` with ``MartletError/retryAfter``.
    @discardableResult
    public func signIn(with credential: Credential, secondFactor: String? = nil) async throws -> User {
        var body = credential.body
        body[credential.secondFactorName] = secondFactor.map(JSON.string)
        body["device"] = deviceName
        return try await begin(callAsApp("POST", credential.path, .object(body)))
    }

    /// Creates a user without name and password. The session on this device is the only access to the account until
    /// ``upgrade(userName:email:password:)`` or ``link(_:password:)`` add another one.
    @discardableResult
    public func signInAnonymously(profile: JSON? = nil, private: JSON? = nil) async throws -> User {
        let body = JSON.members(["profile": profile, "private": `private`, "device": deviceName])
        return try await begin(callAsApp("POST", "auth/anonymous", body))
    }

    /// Gives an anonymous user a name or address, and a password. Id, session and data stay.
    @discardableResult
    public func upgrade(userName: String? = nil, email: String? = nil, password: String) async throws -> User {
        let body = JSON.members([
            "userName": userName.map(JSON.string), "email": email.map(JSON.string), "password": .string(password),
        ])
        return try await user(call("POST", "auth/me/upgrade", body))
    }

    /// Begins a sign-in on a provider's page: open its ``ProviderSignIn/url``, and pass the address with which the app
    /// is opened to ``Credential/provider(_:callback:)``.
    ///
    /// - Parameter redirectURL: One of those in the provider's settings, usually with the app's own scheme.
    public func startSignIn(at provider: String, redirectURL: URL) async throws -> ProviderSignIn {
        let verifier = Data.random(count: 32).base64URL
        let answer = try await callAsApp(
            "POST", "auth/oauth/\(APIRequest.escape(provider))/start",
            [
                "redirectURL": .string(redirectURL.absoluteString),
                "codeChallenge": .string(SHA256Digest.of(Data(verifier.utf8)).base64URL),
            ])
        guard let url = answer["url"]?.stringValue.flatMap(URL.init(string:)), let state = answer["state"]?.stringValue
        else { throw MartletError(.unexpectedAnswer, "The answer has no address.") }
        return ProviderSignIn(url: url, state: state, verifier: verifier)
    }

    /// Signs out on this device. Without a connection, the session is removed from this device, and ends on the server
    /// after a long idle time.
    public func signOut() async throws {
        if try await session.current() != nil {
            var request = APIRequest("POST", "auth/logout")
            request.caller = .user
            request.maximumAttempts = 2
            do {
                try await api.send(request)
            } catch let error as MartletError where error.mayPass || error.status == 401 || error.code == .notSignedIn {
                api.configuration.log(.info, "Signed out on this device only", ["error.code": error.code.rawValue])
            }
        }
        try await session.end(.signedOut)
    }
}

// MARK: - Identities at providers

/// An account at a provider that signs the user in.
public struct LinkedIdentity: Sendable, Hashable, Codable {
    public let provider: String
    public let subject: String
    public let email: String?
    public let created: Date?
}

extension Users {
    /// Lets the signed-in user sign in with this credential, too: an id token or a provider's page. An anonymous user
    /// is then no longer anonymous.
    ///
    /// - Throws: ``MartletError/Code/conflict`` if the identity is another user's.
    @discardableResult
    public func link(_ credential: Credential, password: String? = nil) async throws -> User {
        var body = credential.body
        body["password"] = password.map(JSON.string)
        return try await user(call("POST", "auth/me/identities", .object(body)))
    }

    public func identities() async throws -> [LinkedIdentity] {
        try await list("auth/me/identities")
    }

    /// - Throws: ``MartletError/Code/conflict`` if it is the last way to sign in.
    public func unlink(provider: String, password: String? = nil) async throws {
        let body = JSON.members(["password": password.map(JSON.string)])
        _ = try await call("DELETE", "auth/me/identities/" + APIRequest.escape(provider), body)
    }
}
