import MartletAPI
import MartletCore

/// The caller, as far as the rights of a space are concerned.
enum Identity: Sendable, Hashable {
    /// The app's own server, which rights do not restrict.
    case master
    case anonymous
    /// - Parameter roles: Every role of the user, direct or inherited from other roles, without the prefix `role:`.
    case user(String, roles: [String])

    var userID: String? { if case .user(let id, _) = self { id } else { nil } }

    /// The entries in lists of readers, writers or grantees that include this identity.
    var names: [String] {
        switch self {
        case .master, .anonymous: ["*"]
        case .user(let id, let roles): ["*", id] + roles.map { "role:" + $0 }
        }
    }

    /// Whether a list of readers or writers includes this identity.
    func isAmong(_ names: [String]?) -> Bool {
        guard self != .master, let names else { return true }
        let own = self.names
        return names.contains { own.contains($0) }
    }
}

/// A user's id in tokens and headers: 1 to 128 of `A-Z a-z 0-9 _ - .`, so that no id can be `*` or `role:x`.
struct UserID: Sendable, Hashable {
    let text: String

    init?(_ text: String) {
        let isWellFormed = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        guard isWellFormed, (1...128).contains(text.utf8.count) else { return nil }
        self.text = text
    }
}

/// An entry in a list of readers, writers or members: `*`, a user's id, or `role:<name>`.
enum Grantee {
    static let maximumListed = 100

    /// Whether the text is the name of a role: 1 to 64 of `A-Z a-z 0-9 _ -` and inner spaces.
    static func isRoleName(_ text: some StringProtocol) -> Bool {
        let isWellFormed = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: " "):
                true
            default: false
            }
        }
        return isWellFormed && (1...64).contains(text.utf8.count) && !text.hasPrefix(" ") && !text.hasSuffix(" ")
    }

    static func isUserOrRole(_ text: String) -> Bool {
        if text.hasPrefix("role:") { return isRoleName(text.dropFirst(5)) }
        return UserID(text) != nil
    }

    /// - Throws: `invalid-body` naming `field`.
    static func checked(_ names: [String], field: String) throws -> [String] {
        guard names.count <= maximumListed else {
            throw ServiceError(.limitExceeded, "A list may have at most \(maximumListed) entries.", field: field)
        }
        guard names.allSatisfy({ $0 == "*" || isUserOrRole($0) }) else {
            throw ServiceError(.invalidBody, "Expected a list of \"*\", users' ids and \"role:<name>\".", field: field)
        }
        return names
    }
}
