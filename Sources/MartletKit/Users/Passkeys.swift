public import Foundation

extension Users {
    /// Signing in without a password (WebAuthn).
    public var passkeys: Passkeys { Passkeys(users: self) }
}

/// The server's side of passkeys. The system's side is `AuthenticationServices` on Apple's platforms.
///
/// Options and credentials are JSON as in the browsers' API (`PublicKeyCredential.toJSON()`).
public struct Passkeys: Sendable {
    /// A passkey of the signed-in user.
    public struct Passkey: Sendable, Hashable, Codable, Identifiable {
        public let id: String
        public let name: String?
        /// The authenticator's model, if it says so.
        public let model: String?
        public let backedUp: Bool?
        public let created: Date?
        public let lastUsed: Date?
    }

    let users: Users

    /// Options for signing in. Pass the system's result to ``Users/signIn(with:secondFactor:)`` as
    /// ``Credential/passkey(_:)``.
    public func signInOptions() async throws -> JSON { try await users.callAsApp("POST", "auth/passkeys/options") }

    /// Options for a new user's passkey.
    public func signUpOptions(userName: String? = nil, email: String? = nil) async throws -> JSON {
        try await users.callAsApp("POST", "auth/passkeys/signup/options", Self.names(userName, email))
    }

    /// Creates a user with a passkey instead of a password, and signs in.
    @discardableResult
    public func signUp(
        credential: JSON, userName: String? = nil, email: String? = nil, passkeyName: String? = nil,
        profile: JSON? = nil, private: JSON? = nil, invitation: String? = nil
    ) async throws -> SignUpOutcome {
        let body = JSON.members([
            "credential": credential, "userName": userName.map(JSON.string), "email": email.map(JSON.string),
            "name": passkeyName.map(JSON.string), "profile": profile, "private": `private`,
            "invitation": invitation.map(JSON.string), "device": users.deviceName,
        ])
        return try await users.outcome(users.callAsApp("POST", "auth/passkeys/signup", body))
    }

    /// Options for another passkey of the signed-in user.
    public func addingOptions(password: String? = nil, code: String? = nil) async throws -> JSON {
        let body = JSON.members(["password": password.map(JSON.string), "code": code.map(JSON.string)])
        return try await users.call("POST", "auth/me/passkeys/options", body)
    }

    @discardableResult
    public func add(credential: JSON, name: String? = nil) async throws -> Passkey {
        let body = JSON.members(["credential": credential, "name": name.map(JSON.string)])
        return try await users.call("POST", "auth/me/passkeys", body).decoded(as: Passkey.self)
    }

    public func list() async throws -> [Passkey] {
        try await users.list("auth/me/passkeys")
    }

    public func rename(_ passkey: Passkey, to name: String) async throws {
        _ = try await users.call("PATCH", Self.path(passkey), ["name": .string(name)])
    }

    /// - Throws: ``MartletError/Code/conflict`` if it is the last way to sign in.
    public func remove(_ passkey: Passkey, password: String? = nil) async throws {
        _ = try await users.call("DELETE", Self.path(passkey), .members(["password": password.map(JSON.string)]))
    }

    private static func path(_ passkey: Passkey) -> String { "auth/me/passkeys/" + APIRequest.escape(passkey.id) }

    private static func names(_ userName: String?, _ email: String?) -> JSON {
        .members(["userName": userName.map(JSON.string), "email": email.map(JSON.string)])
    }
}
