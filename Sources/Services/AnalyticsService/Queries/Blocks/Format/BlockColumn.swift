import MartletCore

/// How columns of blocks are written and read.
///
/// - `persons`: for each profile its person's 64 bits, in order.
/// - Terms: how many, each by how much it is greater than the one before, then for each profile which it has, packed.
/// - `profiles`: for each event how far its profile is from that of the event before; the first from -1 on.
/// - `times`: the earliest time and a unit, then for each event how much later it is, in units: than the event before
///   when they have a profile in common, else than the earliest.
/// - `content`: how many values, each with its length, then for each event which it has, packed; 0: none.
enum BlockColumn {
    static let units: [Int64] = [1_000_000, 1_000, 1]

    static func persons(_ persons: [UInt64]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(persons.count * 8)
        for person in persons { bytes.appendWord(person) }
        return bytes
    }

    static func terms(_ terms: [Int32]) -> [UInt8] {
        let different = Set(terms).sorted()
        let places = Dictionary(uniqueKeysWithValues: different.enumerated().map { ($1, UInt32($0)) })
        var bytes: [UInt8] = []
        bytes.appendVarint(UInt64(different.count))
        var last: Int32 = 0
        for term in different {
            bytes.appendVarint(UInt64(term - last))
            last = term
        }
        PackedNumbers.append(terms.map { places[$0] ?? 0 }, values: different.count, to: &bytes)
        return bytes
    }

    /// - Parameter events: by profile and time; times in microseconds.
    static func events(_ events: [(profile: Int, at: Int64)]) -> (profiles: [UInt8], times: [UInt8]) {
        let first = events.lazy.map(\.at).min() ?? 0
        let unit = units.first { unit in events.allSatisfy { ($0.at - first) % unit == 0 } } ?? 1
        var (profiles, times): ([UInt8], [UInt8]) = ([], [])
        profiles.reserveCapacity(events.count)
        times.reserveCapacity(events.count * 5)
        times.appendWord(UInt64(bitPattern: first))
        times.appendVarint(UInt64(unit))
        var (profile, at) = (-1, first)
        for event in events {
            profiles.appendVarint(UInt64(event.profile - profile))
            times.appendVarint(UInt64((event.at - (event.profile == profile ? at : first)) / unit))
            (profile, at) = (event.profile, event.at)
        }
        return (profiles, times)
    }

    /// - Parameter places: 0 for none, else of one of the values, from 1 on.
    static func content(_ values: [ExactText], places: [UInt32]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendVarint(UInt64(values.count))
        for value in values {
            bytes.appendVarint(UInt64(value.text.utf8.count))
            bytes.append(contentsOf: value.text.utf8)
        }
        PackedNumbers.append(places, values: values.count + 1, to: &bytes)
        return bytes
    }
}
