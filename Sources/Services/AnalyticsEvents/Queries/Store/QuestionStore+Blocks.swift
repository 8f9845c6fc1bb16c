import Logging
import MartletCore
import MartletPostgres

/// Answers from blocks, faster than from events but with the same result. Nil if there are no blocks, or they cannot
/// answer.
extension QuestionStore {
    func blockFunnel(_ names: [Int], _ question: FunnelQuestion, in span: Span) async throws -> [Int]? {
        var request = BlockRequest(bounds: span.microseconds)
        request.names = names
        request.withPersons = true
        request.withTimes = true
        return try await scan(request, in: span) {
            try await FunnelCount($0, names: names, windowInSeconds: question.windowInSeconds).count()
        }
    }

    func blockCounts(_ question: CountQuestion, in span: Span) async throws -> [CountRow]? {
        var request = BlockRequest(bounds: span.microseconds)
        request.withPersons = question.withPeople
        if let event = question.event {
            // A name that no event has is number -1, which no block contains.
            request.names = [try await numbers(of: [event], .name, in: span.space)[0]]
        }
        let filters = try await filters(question, &request, in: span.space)
        let group = Self.group(question.group, &request)
        return try await scan(request, in: span) { scan in
            var tally = EventTally(group, filters, bounds: request.bounds)
            try await tally.count(scan)
            let ranking = Ranking(tally, texts: try await scan.reader.texts(of: tally.terms), limit: question.limit)
            let people =
                question.withPeople
                ? try await tally.people(scan, ranks: ranking.ranks, rankCount: ranking.rankCount) : nil
            return ranking.rows(people)
        }
    }

    /// - Throws: `question-too-large`, `too-many-requests`.
    private func scan<Answer: Sendable>(
        _ request: BlockRequest, in span: Span, _ body: (BlockScan) async throws -> Answer
    ) async throws -> Answer? {
        try await semaphore.withPermit {
            let end = ContinuousClock.now + Self.rawTimeout
            do {
                return try await postgres.withTransaction(isolation: .repeatableRead, readOnly: true) { transaction in
                    try await body(
                        BlockScan.start(BlockReader(request: request, span: span, end: end, transaction: transaction)))
                }
            } catch is NotInBlocks {
                return nil
            } catch is BrokenBlock {
                // The events are still intact and answer the question.
                logger.warning(
                    "An event block is damaged; answering from the events instead.",
                    metadata: ["space.id": "\(span.space.id)"])
                return nil
            } catch let error as PostgresError where error.isTimeout {
                throw Self.tooLarge(Self.rawTimeout, cause: "\(error)")
            }
        }
    }

    // MARK: Requests to blocks

    private static func group(_ group: CountQuestion.Group, _ request: inout BlockRequest) -> EventTally.Group {
        if let dimension = BlockDimension(group) { return .dimension(request.index(of: dimension)) }
        switch group {
        case .property(let path): return .property(request.index(of: path))
        case .dimension(let dimension):
            request.isScreen = dimension == .screen
            return .name
        default: return .none
        }
    }

    private func filters(_ question: CountQuestion, _ request: inout BlockRequest, in space: Space) async throws
        -> [EventTally.Filter]
    {
        var filters: [EventTally.Filter] = []
        for filter in question.filters {
            if let dimension = BlockDimension(filter.group) {
                let number = try await numbers(of: [filter.value], dimension.kind, in: space)[0]
                filters.append(.term(dimension: request.index(of: dimension), Int32(number)))
            } else if case .property(let path) = filter.group {
                filters.append(.text(path: request.index(of: path), ExactText(filter.value)))
            }
        }
        return filters
    }

    /// The numbers of terms, in the order of `texts`; -1 for a text that no event has.
    func numbers(of texts: [String], _ kind: TermKind, in space: Space) async throws -> [Int] {
        try await postgres.query(
            """
            SELECT coalesce(t.id, -1) FROM unnest(\(texts)) WITH ORDINALITY AS n (text, place)
                LEFT JOIN analytics.terms AS t ON t.space = \(space.id) AND t.kind = \(kind.rawValue) AND t.text = n.text ORDER BY n.place
            """
        ).map { try $0.decode(0) }
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
    /// The bounds of the intervals in PostgreSQL's microseconds since 2000.
    fileprivate var microseconds: [Int64] { bounds.map { (Int64($0) - 946_684_800) * 1_000_000 } }
}
