import Foundation
import MartletFiles
import MartletPostgres

/// One processor's part of a complete debug file, and where its bytes are.
struct StoredPart: Sendable {
    /// The symbolizer broke on it so often: it is not tried again.
    static let maximumFailures = 3

    var id: UUID
    var debugID: DebugID
    var architecture: String
    /// Where it thinks it is loaded.
    var address: UInt64
    var blob: BlobName
    var range: Range<Int>
    /// Else there are names at the most.
    var hasDebugInformation: Bool
    /// How often the symbolizer broke or hung on it lately.
    var failures: Int

    var isBroken: Bool { failures >= Self.maximumFailures }
}

/// Finds parts by their debug id.
struct DebugFileStore: Sendable {
    let postgres: PostgresClient

    /// Of each debug id the best there is: one that works, with debug information, the newest.
    func find(_ debugIDs: [DebugID], of appID: String) async throws -> [DebugID: StoredPart] {
        try await find(debugIDs, of: appID, "d.kind <> 'sources'")
    }

    /// Of each debug id the newest bundle of sources.
    func findSources(_ debugIDs: [DebugID], of appID: String) async throws -> [DebugID: StoredPart] {
        try await find(debugIDs, of: appID, "d.kind = 'sources'")
    }

    private func find(_ debugIDs: [DebugID], of appID: String, _ condition: PostgresQuery) async throws -> [DebugID: StoredPart] {
        guard !debugIDs.isEmpty else { return [:] }
        let rows = try await postgres.query(
            """
            SELECT DISTINCT ON (d.debug_id) d.id, d.debug_id, d.architecture, d.address, f.blob, d.start, d.length,
                d.failures, d.has_debug_information
            FROM analytics.debug_files AS d JOIN analytics.symbol_files AS f ON f.id = d.file
            WHERE d.app_id = \(appID) AND d.debug_id = ANY (\(debugIDs.map(\.description))) AND \(condition)
            ORDER BY d.debug_id, d.failures >= \(Int16(StoredPart.maximumFailures)), d.has_debug_information DESC, f.created DESC
            """)
        var parts: [DebugID: StoredPart] = [:]
        for row in rows {
            guard let debugID = DebugID(try row.decode(1)),
                let blob = BlobName(space: SymbolChunkStore.blobSpace(of: appID), id: try row.decode(4))
            else { continue }
            let start: Int = try row.decode(5)
            parts[debugID] = StoredPart(
                id: try row.decode(0), debugID: debugID, architecture: try row.decode(2),
                address: UInt64(bitPattern: try row.decode(3, as: Int64.self)), blob: blob, range: start..<start + (try row.decode(6, as: Int.self)),
                hasDebugInformation: try row.decode(8), failures: try row.decode(7))
        }
        return parts
    }

    func countFailure(of part: UUID) async throws {
        try await postgres.execute("UPDATE analytics.debug_files SET failures = failures + 1 WHERE id = \(part) AND failures < 100")
    }

    /// Takes one back: the machine was busy, perhaps. Not of a part that is given up.
    func countSuccess(of part: UUID) async throws {
        try await postgres.execute(
            """
            UPDATE analytics.debug_files SET failures = failures - 1
            WHERE id = \(part) AND failures > 0 AND failures < \(Int16(StoredPart.maximumFailures))
            """)
    }
}
