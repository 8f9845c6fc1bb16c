extension Users {
    /// Codes of an authenticator app as a second factor (TOTP, RFC 6238).
    public var secondFactor: SecondFactor { SecondFactor(users: self) }
}

/// Turns the signed-in user's second factor on and off.
///
/// The password is needed if the user has one; otherwise the user must have signed in within the last ten minutes.
public struct SecondFactor: Sendable {
    /// The secret for an authenticator app.
    public struct Setup: Sendable, Hashable, Codable {
        /// The secret as text, to type into the authenticator app.
        public let secret: String
        /// The secret as a URI, to show as a QR code.
        public let uri: String
    }

    let users: Users

    /// Makes a secret. It takes effect after ``confirm(code:)``.
    public func begin(password: String? = nil) async throws -> Setup {
        try await users.call("POST", "auth/me/totp", .members(["password": password.map(JSON.string)]))
            .decoded(as: Setup.self)
    }

    /// Turns the second factor on. Returns the recovery codes, which the server shows only once.
    public func confirm(code: String) async throws -> [String] {
        let codes = try await recoveryCodes("auth/me/totp/confirm", ["code": .string(code)])
        try await users.refresh()
        return codes
    }

    public func remove(password: String? = nil, code: String) async throws {
        _ = try await users.call("DELETE", "auth/me/totp", Self.body(password, code))
        try await users.refresh()
    }

    /// Replaces all recovery codes.
    public func renewRecoveryCodes(password: String? = nil, code: String) async throws -> [String] {
        try await recoveryCodes("auth/me/totp/recovery-codes", Self.body(password, code))
    }

    private func recoveryCodes(_ path: String, _ body: JSON) async throws -> [String] {
        try await users.call("POST", path, body)["recoveryCodes"]?.arrayValue?.compactMap(\.stringValue) ?? []
    }

    private static func body(_ password: String?, _ code: String) -> JSON {
        .members(["password": password.map(JSON.string), "code": .string(code)])
    }
}
