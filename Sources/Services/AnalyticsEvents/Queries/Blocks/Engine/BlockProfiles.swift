/// The profiles of a block, as far as the question needs them.
struct BlockProfiles: Sendable {
    var count = 0
    /// The number of each profile's person; 0 for nobody.
    var persons: [UInt32] = []
    /// In the order of the request's dimensions.
    var terms: [BlockTerms] = []
}

/// The terms that the profiles of a block have in one dimension.
struct BlockTerms: Sendable {
    /// In ascending order; 0 stands for none.
    var distinct: [Int32] = []
    /// The index of each profile's term in `distinct`.
    var indices: [UInt32] = []
}

extension BlockProfiles {
    /// The person of each profile in the column `persons` of a block.
    ///
    /// - Throws: `BrokenBlock`.
    static func persons(_ bytes: UnsafeRawBufferPointer) throws(BrokenBlock) -> [UInt64] {
        guard bytes.count % 8 == 0 else { throw BrokenBlock() }
        return [UInt64](unsafeUninitializedCapacity: bytes.count / 8) { persons, count in
            count = bytes.count / 8
            for index in 0..<count {
                persons[index] = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index &* 8, as: UInt64.self))
            }
        }
    }

    static func persons(_ bytes: [UInt8]) throws -> [UInt64] { try bytes.withUnsafeBytes { try persons($0) } }
}

extension BlockTerms {
    /// - Parameter count: Number of profiles.
    /// - Throws: `BrokenBlock`.
    init(_ bytes: UnsafeRawBufferPointer, count: Int) throws(BrokenBlock) {
        var reader = VarintReader(bytes)
        var last: Int32 = 0
        for _ in 0..<reader.next() {
            last &+= Int32(truncatingIfNeeded: reader.next())
            distinct.append(last)
            if reader.isBroken { throw BrokenBlock() }
        }
        guard let packed = PackedNumbers(reader.remainder, count: count, values: distinct.count) else {
            throw BrokenBlock()
        }
        indices.reserveCapacity(count)
        for profile in 0..<count {
            let index = packed[profile]
            guard index < distinct.count else { throw BrokenBlock() }
            indices.append(UInt32(truncatingIfNeeded: index))
        }
    }
}
