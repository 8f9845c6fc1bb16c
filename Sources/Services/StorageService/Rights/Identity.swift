import MartletAPI
import MartletCore
import MartletHTTP

/// Who asks, as the rights of a space see it.
enum Identity: Sendable, Hashable {
    /// The app's own server: rights do not bind it.
    case master
    case anonymous
    /// `roles`: every role the user has, also through other roles, without `role:`.
    case user(String, roles: [String])

    var userID: String? { if case .user(let id, _) = self { id } else { nil } }

    /// What a list of readers, writers or grantees may hold to mean this one.
    var names: [String] {
        switch self {
        case .master, .anonymous: ["*"]
        case .user(let id, let roles): ["*", id] + roles.map { "role:" + $0 }
        }
    }

    /// Whether a list of readers or writers lets this one in.
    func isAmong(_ names: [String]?) -> Bool {
        guard self != .master, let names else { return true }
        let own = self.names
        return names.contains { own.contains($0) }
    }
}

/// A user's id as tokens and headers carry it: 1 to 128 of `A-Z a-z 0-9 _ - .`, so that no id can be `*` or `role:x`.
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

/// An entry of a list of readers, writers or members: `*`, a user's id, `role:<name>`.
enum Grantee {
    static let maximumListed = 100

    /// A role's name: 1 to 64 of `A-Z a-z 0-9 _ -` and spaces inside.
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
            throw HTTPProblem(.limitExceeded, "At most \(maximumListed) can be listed.", field: field)
        }
        guard names.allSatisfy({ $0 == "*" || isUserOrRole($0) }) else {
            throw HTTPProblem(.invalidBody, "It is a list of \"*\", users' ids and \"role:<name>\".", field: field)
        }
        return names
    }
}
