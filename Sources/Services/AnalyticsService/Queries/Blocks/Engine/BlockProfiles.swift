/// What a block says of its profiles.
struct BlockProfiles: Sendable {
    var count = 0
    /// Numbers of persons; 0: nobody.
    var persons: [UInt32] = []
    /// In the order of the request's dimensions.
    var terms: [BlockTerms] = []
}

/// What the profiles of a block have in a dimension.
struct BlockTerms: Sendable {
    /// Terms, in order; 0: not said.
    var different: [Int32] = []
    /// Which of them each profile has.
    var places: [UInt32] = []
}

extension BlockProfiles {
    /// The persons of a block, each once for each of its profiles.
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
    /// - Parameter count: of profiles.
    /// - Throws: `BrokenBlock`.
    init(_ bytes: UnsafeRawBufferPointer, count: Int) throws(BrokenBlock) {
        var reader = VarintReader(bytes)
        var last: Int32 = 0
        for _ in 0..<reader.next() {
            last &+= Int32(truncatingIfNeeded: reader.next())
            different.append(last)
            if reader.isBroken { throw BrokenBlock() }
        }
        guard let packed = PackedNumbers(reader.remainder, count: count, values: different.count) else {
            throw BrokenBlock()
        }
        places.reserveCapacity(count)
        for index in 0..<count {
            let place = packed[index]
            guard place < different.count else { throw BrokenBlock() }
            places.append(UInt32(truncatingIfNeeded: place))
        }
    }
}
