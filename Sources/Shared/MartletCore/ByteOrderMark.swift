/// Skips the UTF-8 byte order mark, EF BB BF, at the beginning of a file.
public struct ByteOrderMark: Sendable {
    private static let bytes: [UInt8] = [0xef, 0xbb, 0xbf]
    private var matched: Int? = 0

    public init() {}

    public mutating func skips(_ byte: UInt8) -> Bool {
        guard let position = matched else { return false }
        guard position < Self.bytes.count, byte == Self.bytes[position] else {
            matched = nil
            return false
        }
        matched = position + 1
        return true
    }
}
