/// An event with the fields that blocks store.
struct BlockEvent: Sendable {
    var person: UInt64
    /// Microseconds since 2000.
    var at: Int64
    var name: Int32
    var isScreen: Bool
    /// In the order of `BlockDimension`.
    var terms: SIMD8<Int32>
}

/// The dimensions that distinguish the profiles of a person.
enum BlockDimension: Int, CaseIterable, Sendable {
    case release, os, device, configuration, variants, country

    init?(_ group: CountQuestion.Group) {
        switch group {
        case .variants: self = .variants
        case .dimension(let dimension):
            guard let found = Self.allCases.first(where: { "\($0)" == dimension.name }) else { return nil }
            self = found
        case .none, .property: return nil
        }
    }
}

/// Events in columns.
struct EventBlock: Sendable {
    let persons: [UInt8]
    /// By `BlockDimension`.
    let terms: [[UInt8]]
    let parts: [BlockPart]
    /// For each part, the indices of its events in the original list, in the part's order.
    let orders: [[Int]]

    init(_ events: [BlockEvent]) {
        let order = Self.order(events)
        var profiles: [BlockEvent] = []
        var profileOf = [Int](repeating: 0, count: events.count)
        for index in order {
            let event = events[index]
            let continuesProfile = profiles.last.map { $0.person == event.person && $0.terms == event.terms } ?? false
            if !continuesProfile { profiles.append(event) }
            profileOf[index] = profiles.count - 1
        }
        persons = BlockColumn.persons(profiles.map(\.person))
        terms = BlockDimension.allCases.map { dimension in
            BlockColumn.terms(profiles.map { $0.terms[dimension.rawValue] })
        }
        var partOf: [Int64: Int] = [:]
        var orders: [[Int]] = []
        for index in order {
            // A single number, because hashing a pair would take longer than everything else.
            let key = Int64(events[index].name) << 1 | (events[index].isScreen ? 1 : 0)
            if let part = partOf[key] {
                orders[part].append(index)
            } else {
                partOf[key] = orders.count
                orders.append([index])
            }
        }
        parts = orders.map { order in
            let (profiles, times) = BlockColumn.events(order.map { (profileOf[$0], events[$0].at) })
            let instants = order.lazy.map { events[$0].at }
            return BlockPart(
                name: events[order[0]].name, isScreen: events[order[0]].isScreen, events: order.count,
                firstAt: instants.min() ?? 0, lastAt: instants.max() ?? 0,
                profiles: profiles, times: times)
        }
        self.orders = orders
    }

    /// The indices of events sorted by person, terms and time.
    private static func order(_ events: [BlockEvent]) -> [Int] {
        Array(events.indices).sorted { first, second in
            let (first, second) = (events[first], events[second])
            guard first.person == second.person else { return first.person < second.person }
            guard first.terms == second.terms else {
                for index in BlockDimension.allCases.indices where first.terms[index] != second.terms[index] {
                    return first.terms[index] < second.terms[index]
                }
                return false
            }
            return first.at < second.at
        }
    }
}
