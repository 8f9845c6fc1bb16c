/// Replaces what PostgreSQL cannot store in JSON with U+FFFD: bytes that are not UTF-8, lone surrogates, and U+0000.
/// Texts that a client cut off in the middle of a character contain the first two.
enum RepairedText {
    static func bytes(of text: [UInt8]) -> [UInt8] {
        var bytes =
            String(validating: text, as: UTF8.self) == nil ? Array(String(decoding: text, as: UTF8.self).utf8) : text
        var position = 0
        while let next = bytes[position...].firstIndex(of: UInt8(ascii: "\\")) {
            position = repair(&bytes, at: next)
        }
        return bytes
    }

    /// Repairs the escape that starts with the backslash at `start`; returns the index after the escape.
    private static func repair(_ bytes: inout [UInt8], at start: Int) -> Int {
        guard let unit = unit(bytes, at: start) else { return min(start + 2, bytes.count) }
        if (0xd800...0xdbff).contains(unit), let low = self.unit(bytes, at: start + 6), (0xdc00...0xdfff).contains(low)
        {
            return start + 12
        }
        if unit == 0 || (0xd800...0xdfff).contains(unit) {
            bytes.replaceSubrange(start + 2..<start + 6, with: "fffd".utf8)
        }
        return start + 6
    }

    /// The code unit of an escape such as `\u00e9`; nil if there is none at `start`.
    private static func unit(_ bytes: [UInt8], at start: Int) -> UInt16? {
        guard start + 6 <= bytes.count, bytes[start] == UInt8(ascii: "\\"), bytes[start + 1] == UInt8(ascii: "u") else {
            return nil
        }
        return UInt16(String(decoding: bytes[start + 2..<start + 6], as: UTF8.self), radix: 16)
    }
}
