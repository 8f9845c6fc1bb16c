import Foundation
import Logging
import MartletAPI
import MartletCore
import MartletPostgres

/// Reads live documents.
struct LiveDocumentStore: Sendable {
    let postgres: PostgresClient
    let kinds: Kinds
    let logger: Logger

    /// The generations of spaces. Spaces in which nothing was ever published are missing.
    func generations(of spaces: [AppSpace]) async throws -> [AppSpace: Int64] {
        let rows = try await postgres.query(
            """
            SELECT s.app_id, s.environment, s.generation FROM config.spaces AS s
            JOIN unnest(\(spaces.map(\.appID)), \(spaces.map(\.environment.rawValue))) AS wanted (app_id, environment) USING (app_id, environment)
            """)
        var generations: [AppSpace: Int64] = [:]
        for row in rows {
            guard let environment = AppEnvironment(rawValue: try row.decode(1)) else { continue }
            generations[AppSpace(appID: try row.decode(0), environment: environment)] = try row.decode(2)
        }
        return generations
    }

    /// The live documents of a space. Reads the contents of only those that `known` does not have.
    ///
    /// The generation may be older than the documents; the space is then simply read once more.
    func read(_ space: AppSpace, known: LiveSpace?) async throws -> LiveSpace {
        let generation = try await generations(of: [space])[space] ?? 0
        var live: [LiveDocument] = []
        var pinned: [LiveDocument] = []
        for entry in try await entries(of: space) {
            guard let document = try await document(entry, known: known) else { continue }
            if entry.isLive { live.append(document) } else { pinned.append(document) }
        }
        return LiveSpace(space, generation: generation, live: live, pinned: pinned)
    }

    private struct Entry: Sendable {
        let id: UUID
        let key: DocumentKey
        let version: Int
        let firstVersion: Int
        let sha256: String
        let published: Date
        let isLive: Bool
    }

    private func entries(of space: AppSpace) async throws -> [Entry] {
        let rows = try await postgres.query(
            """
            WITH live AS (
                SELECT d.id, d.kind, d.name, v.version, v.sha256, v.created, v.pins, d.first_version
                FROM config.documents AS d JOIN config.versions AS v ON v.document_id = d.id AND v.version = d.live_version
                WHERE d.app_id = \(space.appID) AND d.environment = \(space.environment.rawValue))
            SELECT id, kind, name, version, sha256, created, true, first_version FROM live
            UNION ALL
            SELECT DISTINCT d.id, d.kind, d.name, v.version, v.sha256, v.created, false, d.first_version
            FROM live CROSS JOIN LATERAL jsonb_to_recordset(live.pins) AS pin (kind text, name text, version integer)
            JOIN config.documents AS d
                ON d.app_id = \(space.appID) AND d.environment = \(space.environment.rawValue) AND d.kind = pin.kind AND d.name = pin.name
            JOIN config.versions AS v ON v.document_id = d.id AND v.version = pin.version
            """)
        return try rows.compactMap { row in
            guard let kind = DocumentKind(rawValue: try row.decode(1)) else { return nil }
            return Entry(
                id: try row.decode(0), key: DocumentKey(kind, try row.decode(2)),
                version: Int(try row.decode(3, as: Int32.self)),
                firstVersion: Int(try row.decode(7, as: Int32.self)), sha256: try row.decode(4),
                published: try row.decode(5), isLive: try row.decode(6))
        }
    }

    /// Nil if this program cannot read the document. The failure is logged, and clients do not get the document.
    private func document(_ entry: Entry, known: LiveSpace?) async throws -> LiveDocument? {
        if let document = known?.version(entry.version, of: entry.key), document.sha256 == entry.sha256 {
            return document
        }
        guard let kind = kinds[entry.key.kind] else { return nil }
        let rows = try await postgres.query(
            "SELECT content FROM config.versions WHERE document_id = \(entry.id) AND version = \(Int32(entry.version))")
        guard let content: String = try rows.first?.decode(0) else { return nil }
        do {
            let bytes = Array(content.utf8)
            let compiled = try kind.compile(try JSONValue(parsing: bytes), named: entry.key.name)
            return LiveDocument(
                key: entry.key, version: entry.version, firstVersion: entry.firstVersion, sha256: entry.sha256,
                published: entry.published,
                content: bytes, compiled: compiled)
        } catch {
            logger.error(
                "Could not read a published document; clients do not get it.",
                metadata: [
                    "document.kind": "\(entry.key.kind.rawValue)", "document.name": "\(entry.key.name)",
                    "document.version": "\(entry.version)",
                    "error.cause": "\(error)",
                ])
            return nil
        }
    }
}
