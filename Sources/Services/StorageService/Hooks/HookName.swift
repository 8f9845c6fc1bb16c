import MartletAPI
import MartletCore

/// The name of a hook or function: a letter, then at most 62 letters, digits, `_` or `-`; ASCII, case-sensitive.
struct HookName: Sendable, Hashable {
    let text: String

    /// - Throws: `invalid-name`.
    init(_ text: String) throws {
        let isWellFormed = text.utf8.enumerated().allSatisfy { index, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"): index > 0
            default: false
            }
        }
        guard isWellFormed, (1...63).contains(text.utf8.count) else {
            throw ServiceError(
                .invalidName, "A hook's name must be a letter and then at most 62 letters, digits, _ or -.",
                field: "name")
        }
        self.text = text
    }
}
