import Foundation

/// Byte-wise operations on text.
///
/// In Swift, a quote that is followed by a combining mark or preceded by a prepended mark (U+0600) is part of another
/// character. PostgreSQL, CSV readers and other consumers of the text see the quote.
extension StringProtocol {
    /// Encloses the text in an ASCII character, doubling each occurrence of it in the text.
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

    /// Splits the text at an ASCII character. Keeps empty parts.
    public func parts(between mark: Unicode.Scalar) -> [String] {
        let byte = UInt8(ascii: mark)
        return utf8.split(separator: byte, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Whether the text contains an ASCII character.
    public func holds(_ mark: Unicode.Scalar) -> Bool { utf8.contains(UInt8(ascii: mark)) }

    /// Whether the text begins with an ASCII character.
    public func begins(with mark: Unicode.Scalar) -> Bool { utf8.first == UInt8(ascii: mark) }
}

extension String {
    /// Whether both strings have the same UTF-8 bytes. `==` also treats canonically equivalent strings as equal, such
    /// as U+212A (KELVIN SIGN) and `K`.
    public func hasSameBytes(as other: String) -> Bool {
        let result: Bool?? = utf8.withContiguousStorageIfAvailable { one in
            other.utf8.withContiguousStorageIfAvailable { other in
                one.count == other.count
                    && (one.isEmpty || memcmp(one.baseAddress!, other.baseAddress!, one.count) == 0)
            }
        }
        return (result ?? nil) ?? utf8.elementsEqual(other.utf8)
    }
}

/// A string that is compared by its UTF-8 bytes, as in PostgreSQL.
public struct ExactText: Sendable, Hashable {
    public let text: String

    public init(_ text: String) { self.text = text }

    public static func == (one: ExactText, other: ExactText) -> Bool { one.text.hasSameBytes(as: other.text) }

    public func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
