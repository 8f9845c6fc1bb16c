/// A range of bytes in a head, as offsets from its first byte.
struct Span {
    var start: UInt32
    var count: UInt32

    static let none = Span(start: 0, count: 0)

    init(start: Int, count: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.count = UInt32(truncatingIfNeeded: count)
    }

    @inline(__always) var range: Range<Int> { Int(start)..<Int(start) + Int(count) }
    @inline(__always) var end: Int { Int(start) + Int(count) }
    var isEmpty: Bool { count == 0 }
}

extension UnsafeRawBufferPointer {
    @inline(__always)
    subscript(span: Span) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[span.range])
    }

    /// Compares the bytes with `text`, which must be lower case, ignoring ASCII case.
    @inline(__always)
    func spells(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        let expected = text.utf8Start
        for index in 0..<count {
            var byte = self[index]
            if byte &- 0x41 < 26 { byte |= 0x20 }
            if byte != expected[index] { return false }
        }
        return true
    }

    /// Compares the bytes in a time that depends on the lengths only.
    @inline(__always)
    func equalsInConstantTime(_ other: UnsafeRawBufferPointer) -> Bool {
        guard count == other.count else { return false }
        var difference: UInt8 = 0
        for index in 0..<count { difference |= self[index] ^ other[index] }
        return difference == 0
    }

    var text: String { String(decoding: self, as: UTF8.self) }

    /// The bytes without leading and trailing spaces and tabs.
    var trimmed: UnsafeRawBufferPointer {
        var range = 0..<count
        while let first = range.first, self[first] == 0x20 || self[first] == 0x09 { range.removeFirst() }
        while let last = range.last, self[last] == 0x20 || self[last] == 0x09 { range.removeLast() }
        return UnsafeRawBufferPointer(rebasing: self[range])
    }

    /// Calls `body` with each element of a comma-separated list (RFC 9110 §5.6.1), trimmed. Empty elements are skipped.
    func forEachListElement(_ body: (UnsafeRawBufferPointer) -> Void) {
        var start = 0
        for index in 0...count where index == count || self[index] == UInt8(ascii: ",") {
            let element = UnsafeRawBufferPointer(rebasing: self[start..<index]).trimmed
            if !element.isEmpty { body(element) }
            start = index + 1
        }
    }
}
