public import Foundation

/// The data that a device keeps of a signed-in user: the tokens, and the user as last returned by the server.
public struct Session: Sendable, Hashable, Codable {
    public internal(set) var user: User
    /// Valid for a quarter of an hour. MartletKit renews it; send it to your own server to prove who the user is.
    public internal(set) var accessToken: String
    public internal(set) var accessTokenExpires: Date
    /// Can be used once. Whoever has it can act as the user.
    var refreshToken: String
}

extension Session: CustomStringConvertible {
    public var description: String { "Session(user: \(user.id), tokens: <redacted>)" }
}

/// A person who uses the app.
public struct User: Sendable, Hashable, Identifiable {
    public let id: String
    public let userName: String?
    public let email: String?
    public let isEmailVerified: Bool
    public let isAnonymous: Bool
    public let hasSecondFactor: Bool
    /// What everybody may see.
    public let profile: JSON
    /// What only the user and your server may see. Empty for other users.
    public let `private`: JSON
    public let created: Date?
}

extension User: Codable {
    private enum CodingKeys: String, CodingKey {
        case id, userName, email, profile, `private`, created
        case isEmailVerified = "emailVerified"
        case isAnonymous
        case hasSecondFactor = "secondFactor"
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(String.self, forKey: .id)
        userName = try container.decodeIfPresent(String.self, forKey: .userName)
        email = try container.decodeIfPresent(String.self, forKey: .email)
        isEmailVerified = try container.decodeIfPresent(Bool.self, forKey: .isEmailVerified) ?? false
        isAnonymous = try container.decodeIfPresent(Bool.self, forKey: .isAnonymous) ?? false
        hasSecondFactor = try container.decodeIfPresent(Bool.self, forKey: .hasSecondFactor) ?? false
        profile = try container.decodeIfPresent(JSON.self, forKey: .profile) ?? [:]
        `private` = try container.decodeIfPresent(JSON.self, forKey: .private) ?? [:]
        created = try container.decodeIfPresent(Date.self, forKey: .created)
    }
}
