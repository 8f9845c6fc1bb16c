import Foundation
import MartletPostgres
import Synchronization

/// Limits the total size of the attachments in a space. The size on disk counts, because attachments may arrive
/// compressed and thus much smaller.
///
/// The total is read once a minute. Attachments that other instances store in between are not counted yet.
final class AttachmentQuota: Sendable {
    private static let lifetime: Duration = .seconds(60)

    private struct Used {
        var sizeInBytes: Int
        var since: ContinuousClock.Instant
    }

    private let postgres: PostgresClient
    private let limitInBytes: Int
    private let used = Mutex<[Int32: Used]>([:])

    init(postgres: PostgresClient, limitInBytes: Int) {
        self.postgres = postgres
        self.limitInBytes = limitInBytes
    }

    /// Reserves space for an attachment. Returns false if too little is left.
    func take(_ sizeInBytes: Int, in space: Space) async throws -> Bool {
        if let isReserved = reserve(sizeInBytes, in: space) { return isReserved }
        let sum: Int = try await postgres.query(
            "SELECT coalesce(sum(size), 0)::bigint FROM analytics.crash_attachments WHERE space = \(space.id)")[0]
            .decode(0)
        used.withLock { $0[space.id] = Used(sizeInBytes: sum, since: .now) }
        return reserve(sizeInBytes, in: space) ?? false
    }

    /// Reserves space if the known total allows it. Nil if the total is unknown or outdated.
    private func reserve(_ sizeInBytes: Int, in space: Space) -> Bool? {
        used.withLock { used in
            guard let known = used[space.id], ContinuousClock.now - known.since < Self.lifetime else { return nil }
            guard known.sizeInBytes + sizeInBytes <= limitInBytes else { return false }
            used[space.id]?.sizeInBytes += sizeInBytes
            return true
        }
    }
}
