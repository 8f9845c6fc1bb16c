import MartletCore
import MartletHTTP
import MartletPostgres

/// What blocks of events tell as the events would, and sooner. Nil: there are none, or they do not say it.
extension QuestionStore {
    func blockFunnel(_ names: [Int], _ question: FunnelQuestion, in span: Span) async throws -> [Int]? {
        var request = BlockRequest(names: names, bounds: span.microseconds)
        request.withPersons = true
        request.withTimes = true
        return try await scan(request, in: span) { try await FunnelCount($0, names: names, windowInSeconds: question.windowInSeconds).count() }
    }

    func blockCounts(_ question: CountQuestion, in span: Span) async throws -> [CountRow]? {
        var request = BlockRequest(bounds: span.microseconds)
        request.withPersons = question.withPeople
        if let event = question.event {
            // An event that no event has is none that blocks could be asked for.
            request.names = [try await numbers(of: [event], .name, in: span.space)[0]]
        }
        let filters = try await filters(question, &request, in: span.space)
        let group = Self.group(question.group, &request)
        return try await scan(request, in: span) { scan in
            var tally = EventTally(group, filters, bounds: request.bounds)
            guard try await tally.count(scan) else { return nil }
            let ranked = try await rank(tally, limit: question.limit)
            let places = min(ranked.count, question.limit) + 1
            let people = question.withPeople ? try await tally.people(scan, placeOf: Self.places(ranked, of: tally, question.limit), places: places) : []
            guard let people else { return nil }
            return Self.rows(tally, ranked, question, people)
        }
    }

    /// - Throws: `question-too-large`, `too-many-requests`.
    private func scan<Answer: Sendable>(_ request: BlockRequest, in span: Span, _ body: (BlockScan) async throws -> Answer?) async throws -> Answer? {
        try await gate.withPlace {
            let end = ContinuousClock.now + Self.rawTimeout
            do {
                return try await postgres.withTransaction(isolation: .repeatableRead, readOnly: true) { transaction in
                    guard let scan = try await BlockScan.start(request, in: span, until: end, transaction) else { return nil }
                    return try await body(scan)
                }
            } catch is UnkeptProperty {
                return nil
            } catch is BrokenBlock {
                // The events themselves are whole.
                return nil
            } catch is BlockTimeout {
                throw Self.tooLarge(Self.rawTimeout)
            } catch let error as PostgresError where error.isTimeout {
                throw Self.tooLarge(Self.rawTimeout, cause: "\(error)")
            }
        }
    }

    // MARK: What is asked for

    private static func group(_ group: CountQuestion.Group, _ request: inout BlockRequest) -> EventTally.Group {
        if let dimension = BlockDimension(group) { return .dimension(request.place(of: dimension)) }
        switch group {
        case .property(let path): return .property(request.place(of: path))
        case .dimension(let dimension):
            request.isScreen = dimension == .screen
            return .name
        default: return .none
        }
    }

    private func filters(_ question: CountQuestion, _ request: inout BlockRequest, in space: Space) async throws -> [EventTally.Filter] {
        var filters: [EventTally.Filter] = []
        for filter in question.filters {
            if let dimension = BlockDimension(filter.group) {
                let number = try await numbers(of: [filter.value], dimension.kind, in: space)[0]
                filters.append(.term(dimension: request.place(of: dimension), Int32(number)))
            } else if case .property(let path) = filter.group {
                filters.append(.text(path: request.place(of: path), filter.value))
            }
        }
        return filters
    }

    /// The numbers of texts, in order; -1 for one that no event has.
    func numbers(of texts: [String], _ kind: TermKind, in space: Space) async throws -> [Int] {
        try await postgres.query(
            """
            SELECT coalesce(t.id, -1) FROM unnest(\(texts)) WITH ORDINALITY AS n (text, place)
                LEFT JOIN analytics.terms AS t ON t.space = \(space.id) AND t.kind = \(kind.rawValue) AND t.text = n.text ORDER BY n.place
            """
        ).map { try $0.decode(0) }
    }

    // MARK: What is answered

    private struct Ranked {
        let value: Int
        let text: String?
        let events: Int
    }

    /// Values with events, those with the most first.
    private func rank(_ tally: EventTally, limit: Int) async throws -> [Ranked] {
        let terms = tally.values.compactMap { value in if case .term(let term) = value { Int(term) } else { nil } }
        var texts: [Int32: String] = [:]
        if !terms.isEmpty {
            for row in try await postgres.query("SELECT id, text FROM analytics.terms WHERE id = ANY (\(terms))") { texts[try row.decode(0)] = try row.decode(1) }
        }
        let intervals = tally.intervalCount
        return tally.values.enumerated().compactMap { number, value -> Ranked? in
            let events = tally.counts[number * intervals..<(number + 1) * intervals].reduce(0, +)
            guard events > 0 else { return nil }
            switch value {
            case .none: return Ranked(value: number, text: nil, events: events)
            case .term(let term): return Ranked(value: number, text: texts[term], events: events)
            case .text(let text): return Ranked(value: number, text: text, events: events)
            }
        }.sorted { first, second in
            guard first.events == second.events else { return first.events > second.events }
            guard let (one, other) = first.text.flatMap({ one in second.text.map { (one, $0) } }) else { return first.text == nil && second.text != nil }
            return one.utf8.lexicographicallyPrecedes(other.utf8)
        }
    }

    /// By value: its place from 0 on; all beyond the limit, and what does not count, have the one behind.
    private static func places(_ ranked: [Ranked], of tally: EventTally, _ limit: Int) -> [Int] {
        var places = [Int](repeating: min(ranked.count, limit), count: tally.values.count)
        for (place, ranked) in ranked.prefix(limit).enumerated() { places[ranked.value] = place }
        return places
    }

    private static func rows(_ tally: EventTally, _ ranked: [Ranked], _ question: CountQuestion, _ people: [Int]) -> [CountRow] {
        let intervals = tally.intervalCount
        func row(_ place: Int, _ interval: Int, _ events: Int, _ ranked: Ranked?) -> CountRow? {
            guard events > 0 else { return nil }
            return CountRow(
                interval: interval, place: ranked == nil ? nil : place + 1, value: ranked?.text, events: events,
                people: question.withPeople ? people[place * intervals + interval] : nil)
        }
        var rows: [CountRow] = []
        for (place, ranked) in ranked.prefix(question.limit).enumerated() {
            rows += (0..<intervals).compactMap { row(place, $0, tally.counts[ranked.value * intervals + $0], ranked) }
        }
        let others = ranked.dropFirst(question.limit)
        rows += (0..<intervals).compactMap { interval in
            row(question.limit, interval, others.reduce(0) { $0 + tally.counts[$1.value * intervals + interval] }, nil)
        }
        return rows
    }
}

extension BlockRequest {
    /// Where a dimension is among those that are read.
    fileprivate mutating func place(of dimension: BlockDimension) -> Int {
        if let place = dimensions.firstIndex(of: dimension) { return place }
        dimensions.append(dimension)
        return dimensions.count - 1
    }

    fileprivate mutating func place(of path: [String]) -> Int {
        if let place = paths.firstIndex(of: path) { return place }
        paths.append(path)
        return paths.count - 1
    }
}

extension BlockDimension {
    fileprivate var kind: TermKind {
        switch self {
        case .release: .release
        case .os: .os
        case .device: .device
        case .configuration: .configuration
        case .variants: .variants
        case .country: .country
        }
    }
}

extension Span {
    /// Where intervals begin and the last ends, as PostgreSQL counts time: since 2000.
    fileprivate var microseconds: [Int64] { bounds.map { (Int64($0) - 946_684_800) * 1_000_000 } }
}
