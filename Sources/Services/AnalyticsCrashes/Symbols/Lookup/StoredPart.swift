import Foundation
import MartletFiles
import MartletPostgres

/// The part of a complete debug file for one processor, and the location of its bytes.
struct StoredPart: Sendable {
    /// After this many symbolizer failures, a part is not tried again.
    static let maximumFailures = 3

    var id: UUID
    var debugID: DebugID
    var architecture: String
    /// The address for which the part was linked.
    var address: UInt64
    var blob: BlobName
    var range: Range<Int>
    /// If false, the part contains function names at most.
    var hasDebugInformation: Bool
    /// How often the symbolizer recently crashed or hung on the part.
    var failures: Int

    var isBroken: Bool { failures >= Self.maximumFailures }
}

/// Finds parts by their debug ids.
struct DebugFileStore: Sendable {
    let postgres: PostgresClient

    /// The best part for each debug id: working, with debug information, newest.
    func find(_ debugIDs: [DebugID], of appID: String) async throws -> [DebugID: StoredPart] {
        try await find(debugIDs, of: appID, "d.kind <> 'sources'")
    }

    /// The newest source bundle for each debug id.
    func findSources(_ debugIDs: [DebugID], of appID: String) async throws -> [DebugID: StoredPart] {
        try await find(debugIDs, of: appID, "d.kind = 'sources'")
    }

    private func find(_ debugIDs: [DebugID], of appID: String, _ condition: PostgresQuery) async throws -> [DebugID:
        StoredPart]
    {
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
                address: UInt64(bitPattern: try row.decode(3, as: Int64.self)), blob: blob,
                range: start..<start + (try row.decode(6, as: Int.self)),
                hasDebugInformation: try row.decode(8), failures: try row.decode(7))
        }
        return parts
    }

    func countFailure(of part: UUID) async throws {
        try await postgres.execute(
            "UPDATE analytics.debug_files SET failures = failures + 1 WHERE id = \(part) AND failures < 100")
    }

    /// Reduces the failure count, because an earlier failure may have been due to load. Has no effect on a part that is
    /// no longer tried.
    func countSuccess(of part: UUID) async throws {
        try await postgres.execute(
            """
            UPDATE analytics.debug_files SET failures = failures - 1
            WHERE id = \(part) AND failures > 0 AND failures < \(Int16(StoredPart.maximumFailures))
            """)
    }
}
