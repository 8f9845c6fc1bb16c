/// Numbers packed without gaps, each in as many bits as the greatest possible one needs, least significant bit first.
/// Four bytes of padding follow, so that a whole word can be loaded at the position of any number.
struct PackedNumbers {
    static let maximumWidth = 24

    private let bytes: UnsafeRawBufferPointer
    private let width: Int
    private let mask: UInt32

    /// - Parameter values: How many values a number can have; every number is below this.
    /// - Returns: nil if there are fewer bytes than `count` numbers need.
    init?(_ bytes: UnsafeRawBufferPointer, count: Int, values: Int) {
        width = Self.width(values)
        guard width <= Self.maximumWidth, bytes.count >= (count * width + 7) / 8 + 4 else { return nil }
        self.bytes = bytes
        mask = width == 0 ? 0 : UInt32.max >> UInt32(32 - width)
    }

    @inline(__always)
    subscript(_ index: Int) -> Int {
        let bit = index &* width
        return Int(
            (UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: bit &>> 3, as: UInt32.self)) &>> UInt32(bit & 7))
                & mask)
    }

    /// - Parameter numbers: Each below `values`.
    static func append(_ numbers: [UInt32], values: Int, to bytes: inout [UInt8]) {
        let width = Self.width(values)
        var (pending, held) = (UInt64(0), 0)
        for number in numbers {
            pending |= UInt64(number) << UInt64(held)
            held += width
            while held >= 8 {
                bytes.append(UInt8(truncatingIfNeeded: pending))
                pending >>= 8
                held -= 8
            }
        }
        if held > 0 { bytes.append(UInt8(truncatingIfNeeded: pending)) }
        bytes.append(contentsOf: [0, 0, 0, 0])
    }

    /// Number of bits needed for a number below `values`.
    static func width(_ values: Int) -> Int { values <= 1 ? 0 : Int.bitWidth - (values - 1).leadingZeroBitCount }
}
