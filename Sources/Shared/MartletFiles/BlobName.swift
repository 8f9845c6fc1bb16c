/// The name of a file's bytes: the space they belong to and 128 random bits.
///
/// Chosen by us, never by a client: no path sent from outside becomes a name in storage. The content of a blob never
/// changes; a new version of a file is a new blob.
public struct BlobName: Sendable, Hashable {
    public let space: String
    /// 32 hexadecimal digits in lower case.
    public let id: String

    /// Nil unless `space` is 1 to 63 of `a-z0-9_` and `id` 32 hexadecimal digits in lower case.
    public init?(space: String, id: String) {
        guard Self.isSpace(space), id.utf8.count == 32, id.utf8.allSatisfy(Self.isDigit) else { return nil }
        self.space = space
        self.id = id
    }

    private init(unchecked space: String, id: String) {
        self.space = space
        self.id = id
    }

    /// A new, unused name.
    public static func random(in space: String) -> BlobName {
        precondition(isSpace(space), "not the name of a space")
        var generator = SystemRandomNumberGenerator()
        return BlobName(unchecked: space, id: hexadecimal(generator.next()) + hexadecimal(generator.next()))
    }

    /// `app_x/3f/3f0a…`: the name as a path of three components, the same in every backend.
    public var key: String { space + "/" + id.prefix(2) + "/" + id }

    static func isSpace(_ text: String) -> Bool {
        (1...63).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        default: false
        }
    }
}

/// The number as 16 digits.
func hexadecimal(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
}
