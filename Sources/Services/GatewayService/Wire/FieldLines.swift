#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// One header line: the positions of its name and value, and its meaning to the gateway.
struct Field {
    var name: Span
    var value: Span
    /// Offset after the line's CRLF. The line starts with the name.
    var end: UInt32
    var meaning: FieldName

    @inline(__always) var line: Range<Int> { Int(name.start)..<Int(end) }
}

/// The header line grammar shared by requests and responses, as strict as RFC 9112 §2.2 and §5 allow.
///
/// Lines must end in CRLF, may contain no control byte except tab, and must not be folded. The parser refuses what a
/// lenient one would repair, because two parsers that repair input differently make request smuggling possible.
enum FieldLines {
    /// The offset of the line's LF, or nil when it has not arrived.
    /// - Throws: If the LF does not follow a CR.
    @inline(__always)
    static func lineFeed(in bytes: UnsafeRawBufferPointer, from start: Int) throws(Refusal) -> Int? {
        guard start < bytes.count, let base = bytes.baseAddress,
            let found = memchr(base + start, 0x0a, bytes.count - start)
        else { return nil }
        let offset = UnsafeRawPointer(found) - base
        guard offset > start, bytes[offset - 1] == 0x0d else { throw .malformed("A line must end in CRLF.") }
        return offset
    }

    /// The field on the line from `start` to the LF at `lineFeed`.
    @inline(__always)
    static func field(in bytes: UnsafeRawBufferPointer, from start: Int, lineFeed: Int) throws(Refusal) -> Field {
        let lineEnd = lineFeed - 1
        var colon = start
        while colon < lineEnd, ByteSet.token.contains(bytes[colon]) { colon += 1 }
        guard colon > start, colon < lineEnd, bytes[colon] == 0x3a else {
            throw .malformed("A header name must be a token directly followed by a colon.")
        }
        var first = colon + 1
        while first < lineEnd, bytes[first] == 0x20 || bytes[first] == 0x09 { first += 1 }
        var last = lineEnd
        while last > first, bytes[last - 1] == 0x20 || bytes[last - 1] == 0x09 { last -= 1 }
        guard !containsControl(bytes, first, last) else {
            throw .malformed("A header value must not contain control characters.")
        }
        let name = Span(start: start, count: colon - start)
        return Field(
            name: name, value: Span(start: first, count: last - first), end: UInt32(truncatingIfNeeded: lineFeed + 1),
            meaning: FieldName(bytes[name]))
    }

    /// Parses a decimal length of up to 18 digits, without sign, list or white space (RFC 9112 §6.3).
    static func contentLength(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        guard (1...18).contains(bytes.count) else { return nil }
        var length: Int64 = 0
        for byte in bytes {
            guard byte &- 0x30 < 10 else { return nil }
            length = length * 10 + Int64(byte - 0x30)
        }
        return length
    }

    /// Whether the range contains 0x7f or a byte below 0x20 other than tab. Tests eight bytes at a time.
    @inline(__always)
    private static func containsControl(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ end: Int) -> Bool {
        var index = start
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        while index + 8 <= end {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let below = (word &- ones &* 0x20) & ~word & highs
            let delete = word ^ (ones &* 0x7f)
            let isDelete = (delete &- ones) & ~delete & highs
            // A match may also be a tab, so confirm it.
            if below | isDelete != 0, containsControlBytewise(bytes, index, index + 8) { return true }
            index += 8
        }
        return containsControlBytewise(bytes, index, end)
    }

    private static func containsControlBytewise(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ end: Int) -> Bool {
        for index in start..<end {
            let byte = bytes[index]
            if byte == 0x7f || (byte < 0x20 && byte != 0x09) { return true }
        }
        return false
    }
}
