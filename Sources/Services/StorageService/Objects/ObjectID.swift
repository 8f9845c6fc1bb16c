import MartletAPI
import MartletCore

/// Id of an object: 1 to 128 of `A-Z a-z 0-9 _ - . : @ ~`, beginning with a letter, digit or `_`.
///
/// Requires no escaping in JSON or paths. Generated ids are UUIDs of version 7.
struct ObjectID: Sendable, Hashable {
    let text: String

    /// - Throws: `invalid-id`.
    init(_ text: String) throws {
        let isWellFormed = text.utf8.enumerated().allSatisfy { index, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "~"):
                index > 0
            default: false
            }
        }
        guard isWellFormed, (1...128).contains(text.utf8.count) else {
            throw ServiceError(
                .invalidID,
                "An id must have 1 to 128 letters, digits or _ - . : @ ~, beginning with a letter, digit or _.",
                field: "_id")
        }
        self.text = text
    }

    private init(unchecked text: String) {
        self.text = text
    }

    static func make() -> ObjectID {
        ObjectID(unchecked: UUIDv7.make())
    }
}
