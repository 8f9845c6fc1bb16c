/// What a question reads of blocks.
struct BlockRequest: Sendable {
    /// Terms; nil: whatever they are called.
    var names: [Int]?
    /// Nil: both.
    var isScreen: Bool?
    /// Whether it matters who had an event.
    var withPersons = false
    /// Whether it matters when, and not only in which interval.
    var withTimes = false
    /// Of profiles.
    var dimensions: [BlockDimension] = []
    /// Of properties.
    var paths: [[String]] = []
    /// Of intervals, in microseconds since 2000. Times are read of what lies in more than one, and where they matter.
    var bounds: [Int64]

    var withProfiles: Bool { withPersons || !dimensions.isEmpty }
}

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

/// A block's events of one name, with the columns that were asked for.
struct BlockPart: Sendable {
    /// Of the blocks that are read.
    var block: Int
    var name: Int32
    var isScreen: Bool
    var events: Int
    var firstAt: Int64
    var lastAt: Int64
    var profiles: [UInt8] = []
    /// Empty: they are not needed.
    var times: [UInt8] = []
    /// In the order of the request's paths; nil: no event has it.
    var properties: [[UInt8]?] = []
}

/// Bytes are not what a block has.
struct BrokenBlock: Error {}

extension BlockPart {
    /// Which profile each event has.
    ///
    /// - Throws: `BrokenBlock`.
    func readProfiles(into list: UnsafeMutablePointer<UInt32>, below limit: Int) throws(BrokenBlock) {
        let isBroken = profiles.withUnsafeBytes { bytes in
            var reader = VarintReader(bytes)
            var profile = -1
            for index in 0..<events {
                profile &+= Int(truncatingIfNeeded: reader.next())
                guard profile >= 0, profile < limit else { return true }
                list[index] = UInt32(truncatingIfNeeded: profile)
            }
            return reader.isBroken
        }
        if isBroken { throw BrokenBlock() }
    }

    /// When each event happened.
    ///
    /// - Throws: `BrokenBlock`.
    func readTimes(into list: UnsafeMutablePointer<Int64>) throws(BrokenBlock) {
        let isBroken = profiles.withUnsafeBytes { profiles in
            times.withUnsafeBytes { times in
                var (steps, reader) = (VarintReader(profiles), VarintReader(times))
                let first = Int64(bitPattern: reader.word())
                let unit = Int64(truncatingIfNeeded: reader.next())
                var at = first
                for index in 0..<events {
                    let isSame = steps.next() == 0
                    at = (isSame ? at : first) &+ Int64(truncatingIfNeeded: reader.next()) &* unit
                    list[index] = at
                }
                return reader.isBroken || steps.isBroken
            }
        }
        if isBroken { throw BrokenBlock() }
    }

    /// What the events have at one of the request's paths: values, and of which of them each is, from 1 on; 0: of none.
    ///
    /// - Throws: `BrokenBlock`.
    func readProperty(_ path: Int, into list: UnsafeMutablePointer<UInt32>) throws(BrokenBlock) -> [String] {
        guard let content = properties[path] else {
            list.update(repeating: 0, count: events)
            return []
        }
        let values = content.withUnsafeBytes { bytes -> [String]? in
            var reader = VarintReader(bytes)
            let count = reader.next()
            var values: [String] = []
            for _ in 0..<count {
                guard let text = reader.bytes(reader.next()) else { return nil }
                values.append(String(decoding: text, as: UTF8.self))
            }
            guard !reader.isBroken, let places = PackedNumbers(reader.remainder, count: events, values: values.count + 1) else { return nil }
            for index in 0..<events {
                let place = places[index]
                guard place <= values.count else { return nil }
                list[index] = UInt32(truncatingIfNeeded: place)
            }
            return values
        }
        guard let values else { throw BrokenBlock() }
        return values
    }
}

extension BlockProfiles {
    /// The persons of a block, each once for each of its profiles.
    ///
    /// - Throws: `BrokenBlock`.
    static func persons(_ bytes: UnsafeRawBufferPointer) throws(BrokenBlock) -> [UInt64] {
        guard bytes.count % 8 == 0 else { throw BrokenBlock() }
        return [UInt64](unsafeUninitializedCapacity: bytes.count / 8) { persons, count in
            count = bytes.count / 8
            for index in 0..<count { persons[index] = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index &* 8, as: UInt64.self)) }
        }
    }

    /// The terms of a dimension.
    ///
    /// - Throws: `BrokenBlock`.
    static func terms(_ bytes: UnsafeRawBufferPointer, count: Int) throws(BrokenBlock) -> BlockTerms {
        var reader = VarintReader(bytes)
        var terms = BlockTerms()
        var last: Int32 = 0
        for _ in 0..<reader.next() {
            last &+= Int32(truncatingIfNeeded: reader.next())
            terms.different.append(last)
            if reader.isBroken { throw BrokenBlock() }
        }
        guard let places = PackedNumbers(reader.remainder, count: count, values: terms.different.count) else { throw BrokenBlock() }
        terms.places.reserveCapacity(count)
        for index in 0..<count {
            let place = places[index]
            guard place < terms.different.count else { throw BrokenBlock() }
            terms.places.append(UInt32(truncatingIfNeeded: place))
        }
        return terms
    }

    static func persons(_ bytes: [UInt8]) throws -> [UInt64] { try bytes.withUnsafeBytes { try persons($0) } }

    static func terms(_ bytes: [UInt8], count: Int) throws -> BlockTerms { try bytes.withUnsafeBytes { try terms($0, count: count) } }
}
