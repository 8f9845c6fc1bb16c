/// Reads consecutive big-endian numbers and byte runs; `nil` if too few bytes remain.
struct ByteReader {
    private var rest: Slice<UnsafeRawBufferPointer>

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes[...] }

    var remaining: Int { rest.count }

    mutating func read<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
        read(count: MemoryLayout<Number>.size)?.bigEndian(type)
    }

    /// A negative count, which encodes NULL in arrays, reads nothing.
    mutating func read(count: Int) -> UnsafeRawBufferPointer? {
        guard count > 0 else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return UnsafeRawBufferPointer(rebasing: rest.prefix(count))
    }
}

extension UnsafeRawBufferPointer {
    func bigEndian<Number: FixedWidthInteger>(_ type: Number.Type) -> Number {
        Number(bigEndian: loadUnaligned(as: type))
    }
}
