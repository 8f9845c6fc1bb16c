import MartletAPI

/// The rules for request targets: origin form only, and a path that every parser reads the same way.
///
/// The path must not contain raw bytes outside RFC 3986, encoded slashes or backslashes, empty segments, or `.` and
/// `..` segments, even if percent-encoded or followed by `;`. Path and query must not contain encoded control bytes or
/// broken escapes. An accepted target needs no normalization, so the upstream sees the same path that the route was
/// chosen by.
enum RequestTarget {
    static func split(_ bytes: UnsafeRawBufferPointer, _ target: Span) throws(Refusal) -> (path: Span, query: Span) {
        let range = target.range
        guard bytes[range.lowerBound] == UInt8(ascii: "/") else {
            throw Refusal(.invalidPath, "The request target must be a path that begins with a slash.")
        }
        let pathEnd = try checkPath(bytes, range)
        if pathEnd < range.upperBound { try checkQuery(bytes, pathEnd + 1..<range.upperBound) }
        return (
            Span(start: range.lowerBound, count: pathEnd - range.lowerBound),
            Span(start: pathEnd, count: range.upperBound - pathEnd)
        )
    }

    /// Returns the offset of the question mark, or the range's end.
    private static func checkPath(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(Refusal) -> Int {
        var index = range.lowerBound
        var segmentIsEmpty = false
        // Whether the current segment consists only of dots so far.
        var segmentIsDots = false
        while index < range.upperBound {
            var byte = bytes[index]
            if byte == UInt8(ascii: "?") { break }
            if byte == UInt8(ascii: "%") {
                guard let escaped = escape(bytes, index, range.upperBound) else {
                    throw Refusal(.invalidPath, invalidEscape)
                }
                guard !isControl(escaped), escaped != UInt8(ascii: "/"), escaped != UInt8(ascii: "\\") else {
                    throw Refusal(
                        .invalidPath, "The path must not contain encoded slashes, backslashes or control characters.")
                }
                // Below, only a dot makes a difference; an escape is never a separator.
                byte = escaped == UInt8(ascii: ".") ? escaped : 0x80
                index += 2
            } else if !ByteSet.path.contains(byte) {
                throw Refusal(.invalidPath, "The path contains a character that must be percent-encoded.")
            }
            index += 1
            switch byte {
            case UInt8(ascii: "/"):
                guard !segmentIsEmpty, !segmentIsDots else { throw invalidSegment }
                segmentIsEmpty = true
            case UInt8(ascii: "."):
                segmentIsDots = segmentIsEmpty || segmentIsDots
                segmentIsEmpty = false
            case UInt8(ascii: ";") where segmentIsDots: throw invalidSegment
            default:
                segmentIsDots = false
                segmentIsEmpty = false
            }
        }
        guard !segmentIsDots else { throw invalidSegment }
        return index
    }

    private static func checkQuery(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(Refusal) {
        var index = range.lowerBound
        while index < range.upperBound {
            if bytes[index] == UInt8(ascii: "%") {
                guard let escaped = escape(bytes, index, range.upperBound) else {
                    throw Refusal(.invalidParameter, invalidEscape)
                }
                guard !isControl(escaped) else {
                    throw Refusal(.invalidParameter, "The query must not contain encoded control characters.")
                }
                index += 3
            } else {
                guard ByteSet.query.contains(bytes[index]) else {
                    throw Refusal(.invalidParameter, "The query contains a character that must be percent-encoded.")
                }
                index += 1
            }
        }
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7f }

    /// The byte encoded by the escape at `index`; nil if the escape is broken.
    private static func escape(_ bytes: UnsafeRawBufferPointer, _ index: Int, _ end: Int) -> UInt8? {
        guard index + 2 < end, let high = hexadecimal(bytes[index + 1]), let low = hexadecimal(bytes[index + 2]) else {
            return nil
        }
        return high << 4 | low
    }

    private static var invalidEscape: StaticString { "A percent sign must begin an escape of two hexadecimal digits." }
    private static var invalidSegment: Refusal {
        Refusal(.invalidPath, "The path must not contain empty, '.' or '..' segments.")
    }
}

/// The value of a hexadecimal digit.
@inline(__always)
func hexadecimal(_ byte: UInt8) -> UInt8? {
    if byte &- 0x30 < 10 { return byte &- 0x30 }
    let letter = byte | 0x20
    return letter &- 0x61 < 6 ? letter &- 0x57 : nil
}
