package import Foundation
package import MartletFiles

/// Compares the blobs of a space with the rows that reference them, page by page in the order of their ids. A crash
/// between writing the one and the other leaves bytes without a row, or a row without bytes.
package struct BlobSweep: Sendable {
    private static let pageLength = 500
    /// Maximum number of lost blobs that one run reports; the next run finds more.
    static let maximumLost = 500

    let files: any FileBackend
    /// The first component of the blobs' names.
    let space: String
    /// The subset of these blobs that rows reference.
    let named: @Sendable (_ ids: [String]) async throws -> Set<String>
    /// The blobs referenced by rows older than `before`, in ascending order: those after the first id, up to and
    /// including the second if there is one.
    let rows: @Sendable (_ after: String, _ upTo: String?, _ before: Date, _ limit: Int) async throws -> [String]

    package init(
        files: any FileBackend, space: String, named: @escaping @Sendable (_ ids: [String]) async throws -> Set<String>,
        rows:
            @escaping @Sendable (_ after: String, _ upTo: String?, _ before: Date, _ limit: Int) async throws ->
            [String]
    ) {
        self.files = files
        self.space = space
        self.named = named
        self.rows = rows
    }

    package struct Findings: Sendable {
        /// Blobs that rows reference but whose bytes are missing.
        package var lost: [String] = []
        /// Number of blobs that are present and referenced.
        package var kept = 0

        /// Whether at most half of the blobs are missing. If more are missing, the storage itself is probably at fault,
        /// for example an unmounted disk, and callers must not remove any rows.
        package var isPlausible: Bool { kept >= lost.count }
    }

    /// - Parameters:
    ///   - date: Younger blobs and rows may belong to a write in progress and are skipped.
    ///   - orphans: Receives the ids of blobs without a row, one page at a time.
    /// - Returns: nil if the task was cancelled.
    package func run(before date: Date, orphans: ([String]) async throws -> Void = { _ in }) async throws -> Findings? {
        var findings = Findings()
        var (cursor, last) = (String?.none, "")
        repeat {
            let page = try await files.list(space, after: cursor, limit: Self.pageLength)
            let ids = page.blobs.map(\.id)
            let named = ids.isEmpty ? [] : try await named(ids)
            findings.kept += named.count
            let old = page.blobs.filter { $0.written < date && !named.contains($0.id) }.map(\.id)
            if !old.isEmpty { try await orphans(old) }
            if page.next == nil || !ids.isEmpty {
                try await addLost(
                    to: &findings.lost, from: last, upTo: page.next == nil ? nil : ids.last, present: Set(ids),
                    before: date)
            }
            (cursor, last) = (page.next, ids.last ?? last)
            if Task.isCancelled { return nil }
        } while cursor != nil
        return findings
    }

    private func addLost(
        to lost: inout [String], from first: String, upTo end: String?, present: Set<String>, before date: Date
    ) async throws {
        var last = first
        while lost.count < Self.maximumLost, !Task.isCancelled {
            let page = try await rows(last, end, date, Self.pageLength)
            lost += page.filter { !present.contains($0) }.prefix(Self.maximumLost - lost.count)
            guard page.count == Self.pageLength, let reached = page.last else { return }
            last = reached
        }
    }
}
