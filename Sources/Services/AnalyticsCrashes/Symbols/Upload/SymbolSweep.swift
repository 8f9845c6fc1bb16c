import AnalyticsShared
import Foundation
import Logging
import MartletBackground
import MartletFiles
import MartletJobs
import MartletPostgres
import ServiceLifecycle

/// Cleans up abandoned chunks, orphaned blobs and idle processes, and finds reports whose symbols arrived while they
/// were being processed. Any instance of the service may run it at any time.
struct SymbolSweep: Service {
    /// The minimum age of a blob without a row that is removed. A younger blob may still get its row, because bytes are
    /// written before their row.
    private static let orphanAge: TimeInterval = 24 * 3_600
    /// The number of sweeps from one search for orphans to the next.
    private static let orphanRounds = 60

    let files: SymbolFileStore
    let chunks: SymbolChunkStore
    let awaited: AwaitedSymbols
    let backend: any FileBackend
    let settings: SymbolSettings
    let cache: DebugFileCache
    let pool: SymbolizerPool?
    let queue: JobQueue
    let logger: Logger
    let now: @Sendable () -> Date

    func run() async throws {
        await cancelWhenGracefulShutdown {
            // Instances that start together should not all search at the same time.
            var round = Int.random(in: 0..<Self.orphanRounds)
            await NotifiedLoop(every: settings.sweepInterval, startsAtOnce: false).run {
                await pool?.endIdle()
                await attempt(
                    "Could not look for reports that wait for symbols; retrying at the next sweep.", logger: logger
                ) {
                    try await SymbolicateAgain.enqueueForgotten(files.postgres, queue)
                }
                await attempt(
                    "Could not remove abandoned chunks of debug files; retrying at the next sweep.", logger: logger
                ) {
                    try await tidy()
                }
                round += 1
                if round % Self.orphanRounds == 0 {
                    await attempt("Could not remove orphaned debug files; retrying later.", logger: logger) {
                        try await removeOrphans(before: now().addingTimeInterval(-Self.orphanAge))
                    }
                }
                return true
            }
        }
        await pool?.endIdle(before: .now)
        await cache.clear()
    }

    /// Deletes abandoned chunks, and marks files that no job works on as failed.
    func tidy() async throws {
        try await files.tidy()
        try await awaited.forgetOld()
        while !Task.isCancelled {
            let blobs = try await chunks.deleteAbandoned(after: settings.uploadLifetime)
            for blob in blobs { try await backend.remove(blob) }
            if blobs.isEmpty { return }
        }
    }

    /// Deletes blobs older than `date` that belong to no file or chunk.
    func removeOrphans(before date: Date) async throws {
        for app in try await files.apps() {
            let space = SymbolChunkStore.blobSpace(of: app)
            try await backend.removeAbandoned(before: date, in: space)
            let sweep = BlobSweep(files: backend, space: space) { [files] in
                try await files.used($0, of: app)
            } rows: { _, _, _, _ in
                []
            }
            _ = try await sweep.run(before: date) { ids in
                for id in ids { if let blob = BlobName(space: space, id: id) { try await backend.remove(blob) } }
            }
        }
    }
}
