/// Asks for the number of events and, optionally, of their persons.
struct CountQuestion: Sendable {
    static let maximumGroups = 100
    static let maximumDepth = 8

    /// How events are grouped.
    enum Group: Sendable, Equatable {
        case none
        case dimension(Dimension)
        case variants
        /// By the property at this path.
        case property([String])
    }

    /// Counts only events with this value.
    struct Filter: Sendable {
        let group: Group
        /// As text.
        let value: String
    }

    var event: String?
    var group = Group.none
    var filters: [Filter] = []
    var withPeople = false
    /// Maximum number of values listed; all other values are summed up in one row.
    var limit = 10

    /// The tables that can answer the question.
    enum Source: Sendable {
        case days, hours, events
    }

    func source(_ span: Span) -> Source {
        guard filters.isEmpty else { return .events }
        switch group {
        case .variants, .property: return .events
        case .dimension(let dimension) where event != nil:
            // Days have no sets of persons for an event together with another dimension.
            return dimension.isAttribute && span.hasRolledDays && !withPeople ? .days : .events
        case .dimension, .none:
            if span.hasRolledDays { return .days }
            // Hours have only the set of all persons.
            return span.hasWholeHours && (!withPeople || (event == nil && group == .none)) ? .hours : .events
        }
    }
}

/// A row of the answer.
struct CountRow: Sendable, Equatable {
    /// Index of the interval.
    var interval: Int
    /// The rank of the value, from 1; nil for all values beyond the limit.
    var rank: Int?
    /// Nil if the events have no value, or are not grouped.
    var value: String?
    var events: Int
    var people: Int?

    var isOther: Bool { rank == nil }
}
