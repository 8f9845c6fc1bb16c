/// Variable-length numbers in groups of seven bits, the lowest first (LEB128).
extension [UInt8] {
    mutating func appendVarint(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    /// Appends eight bytes, the lowest first.
    mutating func appendWord(_ number: UInt64) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }
}

/// Reads numbers written by `appendVarint` and `appendWord`. Past the end it returns 0 and sets `isBroken`.
struct VarintReader {
    private let bytes: UnsafeRawBufferPointer
    private(set) var offset = 0
    private(set) var isBroken = false

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    @inline(__always)
    mutating func next() -> UInt64 {
        guard offset < bytes.count else { return fail() }
        let first = bytes[offset]
        offset &+= 1
        return first < 0x80 ? UInt64(first) : rest(of: first)
    }

    @inline(__always)
    private mutating func rest(of first: UInt8) -> UInt64 {
        var number = UInt64(first & 0x7F)
        var shift: UInt64 = 7
        while true {
            guard offset < bytes.count, shift < 64 else { return fail() }
            let byte = bytes[offset]
            offset &+= 1
            number |= UInt64(byte & 0x7F) &<< shift
            if byte < 0x80 { return number }
            shift &+= 7
        }
    }

    mutating func word() -> UInt64 {
        guard bytes.count - offset >= 8 else { return fail() }
        defer { offset += 8 }
        return UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// - Returns: nil if fewer bytes are left.
    mutating func bytes(_ count: UInt64) -> UnsafeRawBufferPointer? {
        guard count <= UInt64(bytes.count - offset) else {
            isBroken = true
            return nil
        }
        defer { offset += Int(count) }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + Int(count)])
    }

    /// The bytes not yet read.
    var remainder: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[offset...]) }

    private mutating func fail() -> UInt64 {
        isBroken = true
        return 0
    }
}
