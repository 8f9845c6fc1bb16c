import Foundation
import MartletPostgres

/// Finds the blocks for a question and reads their profiles.
extension BlockReader {
    /// Whether a block may contain requested events.
    private var isRelevant: PostgresQuery {
        """
        b.space = \(span.space.id) AND b.received_to > \(span.start.addingTimeInterval(-QuestionStore.clockTolerance))
            AND (NOT b.is_built OR b.first_at < \(request.last) AND b.last_at >= \(request.first))
        """
    }

    func hasBlocks() async throws -> Bool {
        try await !query("SELECT FROM analytics.blocks AS b WHERE \(isRelevant) AND b.is_built LIMIT 1").isEmpty
    }

    /// Rows of blocks in order of time: id, start and end of `received`, whether the block is built, persons, and the
    /// request's dimensions.
    func blockRows(after: Date, limit: Int) async throws -> PostgresRows {
        let persons: PostgresQuery = request.withProfiles ? "b.persons" : "NULL::bytea"
        let dimensions = request.dimensions.reduce(into: PostgresQuery()) { $0 += ", b." + $1.column }
        return try await query(
            """
            SELECT b.id, b.received_from, b.received_to, b.is_built, \(persons)\(dimensions)
            FROM analytics.blocks AS b WHERE \(isRelevant) AND b.received_from > \(after) ORDER BY b.received_from LIMIT \(limit)
            """)
    }

    /// The time up to which the space's blocks have been planned.
    func unplanned() async throws -> Date {
        let rows = try await query(
            "SELECT coalesce((SELECT since FROM analytics.block_spaces WHERE space = \(span.space.id)), reached) FROM analytics.block_reach"
        )
        guard let row = rows.first else { throw NotInBlocks() }
        return try row.decode(0)
    }
}

extension BlockDimension {
    fileprivate var column: PostgresQuery {
        switch self {
        case .release: "release"
        case .os: "os"
        case .device: "device"
        case .configuration: "configuration"
        case .variants: "variants"
        case .country: "country"
        }
    }
}
