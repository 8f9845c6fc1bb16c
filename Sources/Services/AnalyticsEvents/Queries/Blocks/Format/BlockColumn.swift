import MartletCore

/// The encoding of a block's columns.
///
/// - `persons`: the 64 bits of each profile's person, in order.
/// - Terms: the number of distinct terms, each term as its difference from the one before, then the packed index of
///   each profile's term.
/// - `profiles`: each event's profile as its difference from that of the event before; the first counts from -1.
/// - `times`: the earliest time and a unit, then each event's distance in units: from the event before if it has the
///   same profile, else from the earliest time.
/// - `content`: the number of values, each value with its length, then the packed number of each event's value; 0 for
///   none.
enum BlockColumn {
    static let units: [Int64] = [1_000_000, 1_000, 1]

    static func persons(_ persons: [UInt64]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(persons.count * 8)
        for person in persons { bytes.appendWord(person) }
        return bytes
    }

    static func terms(_ terms: [Int32]) -> [UInt8] {
        let distinct = Set(terms).sorted()
        let indices = Dictionary(uniqueKeysWithValues: distinct.enumerated().map { ($1, UInt32($0)) })
        var bytes: [UInt8] = []
        bytes.appendVarint(UInt64(distinct.count))
        var last: Int32 = 0
        for term in distinct {
            bytes.appendVarint(UInt64(term - last))
            last = term
        }
        PackedNumbers.append(terms.map { indices[$0] ?? 0 }, values: distinct.count, to: &bytes)
        return bytes
    }

    /// - Parameter events: Sorted by profile and time; times in microseconds.
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

    /// - Parameter numbers: The number of each event's value, counted from 1; 0 for none.
    static func content(_ values: [ExactText], numbers: [UInt32]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendVarint(UInt64(values.count))
        for value in values {
            bytes.appendVarint(UInt64(value.text.utf8.count))
            bytes.append(contentsOf: value.text.utf8)
        }
        PackedNumbers.append(numbers, values: values.count + 1, to: &bytes)
        return bytes
    }
}
