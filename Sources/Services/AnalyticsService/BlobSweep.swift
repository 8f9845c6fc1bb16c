import Foundation
import MartletFiles

/// Looks at the blobs of a space and at the rows that name them, both in the order of their ids, a page at a time. A death between the one and the
/// other leaves bytes that no row names, or a row whose bytes are gone.
struct BlobSweep: Sendable {
    private static let pageLength = 500
    /// In one pass; the next one finds more.
    static let maximumLost = 500

    let files: any FileBackend
    /// The first part of the blobs' names.
    let space: String
    /// Which of these blobs rows name.
    let named: @Sendable (_ ids: [String]) async throws -> Set<String>
    /// The blobs that rows from before a time name: behind the first id and up to the second, or all behind, in their order.
    let rows: @Sendable (_ after: String, _ upTo: String?, _ before: Date, _ limit: Int) async throws -> [String]

    struct Findings: Sendable {
        /// Blobs that rows name and that there are no bytes of.
        var lost: [String] = []
        /// Blobs that rows name, and that are there.
        var kept = 0

        /// Whether what is missing is an exception. Else something is wrong with the files as a whole, such as a disk that is not there, and nothing
        /// is to be concluded from it.
        var isException: Bool { kept >= lost.count }
    }

    /// - Parameters:
    ///   - date: what is younger may be under way, and is left alone.
    ///   - orphans: gets the ids of blobs that no row names, page by page.
    /// - Returns: nil when it was stopped in between.
    func run(before date: Date, orphans: ([String]) async throws -> Void = { _ in }) async throws -> Findings? {
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
                try await look(for: &findings.lost, from: last, upTo: page.next == nil ? nil : ids.last, but: Set(ids), before: date)
            }
            (cursor, last) = (page.next, ids.last ?? last)
            if Task.isCancelled { return nil }
        } while cursor != nil
        return findings
    }

    private func look(for lost: inout [String], from first: String, upTo end: String?, but there: Set<String>, before date: Date) async throws {
        var last = first
        while lost.count < Self.maximumLost, !Task.isCancelled {
            let page = try await rows(last, end, date, Self.pageLength)
            lost += page.filter { !there.contains($0) }.prefix(Self.maximumLost - lost.count)
            guard page.count == Self.pageLength, let reached = page.last else { return }
            last = reached
        }
    }
}
