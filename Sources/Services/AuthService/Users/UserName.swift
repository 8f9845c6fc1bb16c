import MartletAPI
import MartletCore

/// A user name: 2 to 64 of `a-z 0-9 . _ -`, starting with a letter or digit. Case does not matter. No other letters are
/// allowed, so that no two names look alike.
struct UserName: Sendable, Equatable {
    let text: String

    /// - Throws: `invalid-body`.
    init(_ text: String, field: String = "userName") throws {
        let small = text.lowercased()
        let isWellFormed = small.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: "._-".utf8.contains(byte)
            }
        }
        guard isWellFormed, (2...64).contains(small.utf8.count), let first = small.utf8.first,
            !"._-".utf8.contains(first)
        else {
            throw ServiceError(
                .invalidBody,
                "Expected a user name of 2 to 64 of the characters a-z 0-9 . _ -, starting with a letter or digit.",
                field: field
            )
        }
        self.text = small
    }
}
