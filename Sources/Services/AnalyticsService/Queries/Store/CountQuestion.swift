/// How many events, and how many persons had them.
struct CountQuestion: Sendable {
    static let maximumGroups = 100
    static let maximumDepth = 8

    /// What values are told apart by.
    enum Group: Sendable, Equatable {
        case none
        case dimension(Dimension)
        case variants
        /// The property at this path.
        case property([String])
    }

    /// Only events that have this.
    struct Filter: Sendable {
        let group: Group
        /// As text.
        let value: String
    }

    var event: String?
    var group = Group.none
    var filters: [Filter] = []
    var withPeople = false
    /// The values with the most events; all others are one.
    var limit = 10

    /// Where the answer is from.
    enum Source: Sendable {
        case days, hours, events
    }

    func source(_ span: Span) -> Source {
        guard filters.isEmpty else { return .events }
        switch group {
        case .variants, .property: return .events
        case .dimension(let dimension) where event != nil:
            // Who had an event under one release or other is told by the events only.
            return dimension.isAttribute && span.hasRolledDays && !withPeople ? .days : .events
        case .dimension, .none:
            if span.hasRolledDays { return .days }
            // Of hours it is known who was there, and not what they did.
            return span.hasWholeHours && (!withPeople || (event == nil && group == .none)) ? .hours : .events
        }
    }
}

/// A line of the answer.
struct CountRow: Sendable, Equatable {
    /// Index of the interval.
    var interval: Int
    /// Place among the values, from 1 on; nil: all beyond the limit.
    var place: Int?
    /// Nil: not said, or there is no group.
    var value: String?
    var events: Int
    var people: Int?

    var isOther: Bool { place == nil }
}
