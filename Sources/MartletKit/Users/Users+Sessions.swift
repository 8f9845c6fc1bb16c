public import Foundation

/// A device on which the user is signed in.
public struct OpenSession: Sendable, Hashable, Codable, Identifiable {
    public let id: String
    /// The device's name, as reported by the device.
    public let device: String?
    /// Whether this is the current session.
    public let current: Bool
    public let created: Date?
    public let lastUsed: Date?
}

/// An application to which the user has granted access, through the app's OpenID Connect provider.
public struct AppGrant: Sendable, Hashable, Codable {
    public let client: String
    public let name: String?
    public let scopes: [String]
}

extension Users {
    /// Where the user is signed in.
    public func sessions() async throws -> [OpenSession] {
        try await list("auth/sessions")
    }

    /// Signs the user out on another device.
    public func end(_ session: OpenSession) async throws {
        _ = try await call("DELETE", "auth/sessions/" + APIRequest.escape(session.id))
    }

    /// Signs the user out everywhere but here. Returns how many sessions ended.
    @discardableResult
    public func signOutElsewhere() async throws -> Int {
        var request = APIRequest("DELETE", "auth/sessions")
        request.query = [("keep", "current")]
        request.caller = .user
        return try await api.json(request)["count"]?.intValue ?? 0
    }

    /// Signs the user out everywhere, here too.
    public func signOutEverywhere() async throws {
        _ = try await call("DELETE", "auth/sessions")
        try await session.end(.signedOut)
    }

    /// Applications that may act for the user.
    public func grants() async throws -> [AppGrant] {
        try await list("auth/me/grants")
    }

    public func revoke(_ grant: AppGrant) async throws {
        _ = try await call("DELETE", "auth/me/grants/" + APIRequest.escape(grant.client))
    }
}
