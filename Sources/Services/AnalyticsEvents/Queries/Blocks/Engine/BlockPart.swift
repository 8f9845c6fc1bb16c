import MartletCore

/// The events of one name in a block, with the columns that the question needs.
struct BlockPart: Sendable {
    /// Index of the block among those of the question.
    var block = 0
    let name: Int32
    let isScreen: Bool
    let events: Int
    let firstAt: Int64
    let lastAt: Int64
    let profiles: [UInt8]
    let times: [UInt8]
    /// In the order of the request's paths; nil if no event has the property.
    var properties: [[UInt8]?] = []
}

extension BlockPart {
    /// Writes the profile of each event to `list`.
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

    /// Writes the time of each event to `list`.
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

    /// The distinct values at one of the request's paths. Writes the number of each event's value to `list`, counted
    /// from 1; 0 for none.
    ///
    /// - Throws: `BrokenBlock`.
    func readProperty(_ path: Int, into list: UnsafeMutablePointer<UInt32>) throws(BrokenBlock) -> [ExactText] {
        guard let content = properties[path] else {
            list.update(repeating: 0, count: events)
            return []
        }
        let values = content.withUnsafeBytes { bytes -> [ExactText]? in
            var reader = VarintReader(bytes)
            let count = reader.next()
            var values: [ExactText] = []
            for _ in 0..<count {
                guard let text = reader.bytes(reader.next()) else { return nil }
                values.append(ExactText(String(decoding: text, as: UTF8.self)))
            }
            guard !reader.isBroken,
                let numbers = PackedNumbers(reader.remainder, count: events, values: values.count + 1)
            else { return nil }
            for index in 0..<events {
                let number = numbers[index]
                guard number <= values.count else { return nil }
                list[index] = UInt32(truncatingIfNeeded: number)
            }
            return values
        }
        guard let values else { throw BrokenBlock() }
        return values
    }
}
