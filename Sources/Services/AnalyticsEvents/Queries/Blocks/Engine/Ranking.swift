import MartletCore

/// The values of a tally that have events, by descending number of events, then by the bytes of their text.
struct Ranking {
    private struct Value {
        let number: Int
        let text: String?
        let events: Int
    }

    private let tally: EventTally
    /// The values up to the limit, and all others.
    private let named: ArraySlice<Value>
    private let others: ArraySlice<Value>

    init(_ tally: EventTally, texts: [Int32: String], limit: Int) {
        let intervals = tally.intervalCount
        let ranked = tally.values.enumerated().compactMap { number, value -> Value? in
            let events = tally.counts[number * intervals..<(number + 1) * intervals].reduce(0, +)
            guard events > 0 else { return nil }
            return switch value {
            case .none: Value(number: number, text: nil, events: events)
            case .term(let term): Value(number: number, text: texts[term], events: events)
            case .text(let value): Value(number: number, text: value.text, events: events)
            }
        }.sorted { first, second in
            guard first.events == second.events else { return first.events > second.events }
            guard let one = first.text, let other = second.text else { return first.text == nil && second.text != nil }
            return one.utf8.lexicographicallyPrecedes(other.utf8)
        }
        (self.tally, named, others) = (tally, ranked.prefix(limit), ranked.dropFirst(limit))
    }

    var rankCount: Int { named.count + 1 }

    /// The rank of each value, from 0. Values beyond the limit or without events share the last rank.
    var ranks: [Int] {
        var ranks = [Int](repeating: named.count, count: tally.values.count)
        for (rank, value) in named.enumerated() { ranks[value.number] = rank }
        return ranks
    }

    /// - Parameter people: Number of persons by rank, then interval; nil if persons are not counted.
    func rows(_ people: [Int]?) -> [CountRow] {
        let intervals = tally.intervalCount
        func row(_ rank: Int, _ interval: Int, _ values: ArraySlice<Value>, isOther: Bool = false) -> CountRow? {
            let events = values.reduce(0) { $0 + tally.counts[$1.number * intervals + interval] }
            guard events > 0 else { return nil }
            return CountRow(
                interval: interval, rank: isOther ? nil : rank + 1, value: isOther ? nil : values.first?.text,
                events: events,
                people: people?[rank * intervals + interval])
        }
        let rows = named.indices.flatMap { rank in (0..<intervals).compactMap { row(rank, $0, named[rank...rank]) } }
        return rows + (0..<intervals).compactMap { row(named.count, $0, others, isOther: true) }
    }
}

extension EventTally {
    /// The terms among the tally's values.
    var terms: [Int] { values.compactMap { value in if case .term(let term) = value { Int(term) } else { nil } } }
}
