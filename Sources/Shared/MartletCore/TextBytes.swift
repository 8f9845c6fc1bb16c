import Foundation

/// Text as others read it, byte by byte.
///
/// To Swift a quote before a combining mark, or behind a mark that is put in front (U+0600), is not that quote but part of another
/// character. PostgreSQL, CSV readers and whoever else takes the text see the quote.
extension StringProtocol {
    /// The text between two of an ASCII character, with each that stands in it doubled.
    public func enclosed(in quote: Unicode.Scalar) -> String {
        let byte = UInt8(ascii: quote)
        var bytes: [UInt8] = [byte]
        bytes.reserveCapacity(utf8.count + 2)
        for next in utf8 {
            if next == byte { bytes.append(byte) }
            bytes.append(next)
        }
        bytes.append(byte)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// What stands between an ASCII character; empty parts too.
    public func parts(between mark: Unicode.Scalar) -> [String] {
        let byte = UInt8(ascii: mark)
        return utf8.split(separator: byte, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Whether an ASCII character stands in the text.
    public func holds(_ mark: Unicode.Scalar) -> Bool { utf8.contains(UInt8(ascii: mark)) }

    /// Whether the text's first byte is an ASCII character.
    public func begins(with mark: Unicode.Scalar) -> Bool { utf8.first == UInt8(ascii: mark) }
}

extension String {
    /// Whether the other text has the same UTF-8 bytes. `==` also takes canonically equivalent texts for equal: U+212A (KELVIN SIGN) and `K`.
    public func hasSameBytes(as other: String) -> Bool {
        let result: Bool?? = utf8.withContiguousStorageIfAvailable { one in
            other.utf8.withContiguousStorageIfAvailable { other in
                one.count == other.count && (one.isEmpty || memcmp(one.baseAddress!, other.baseAddress!, one.count) == 0)
            }
        }
        return (result ?? nil) ?? utf8.elementsEqual(other.utf8)
    }
}

/// A text that equals another one when their UTF-8 bytes are equal, as for PostgreSQL.
public struct ExactText: Sendable, Hashable {
    public let text: String

    public init(_ text: String) { self.text = text }

    public static func == (one: ExactText, other: ExactText) -> Bool { one.text.hasSameBytes(as: other.text) }

    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
