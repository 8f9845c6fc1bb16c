import Foundation
import Logging
import MartletFiles
import MartletJobs
import MartletPostgres
import ServiceLifecycle

/// Looks for what was left over: pieces that nobody puts together, bytes that belong to nothing, idle processes, and reports whose symbols
/// came while they were read. Every copy of the service may do this at any time.
struct SymbolSweep: Service {
    /// Bytes are written before their row.
    private static let orphanAge: TimeInterval = 24 * 3_600
    /// Of looks for orphans, in sweeps.
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

    func run() async throws {
        await cancelWhenGracefulShutdown {
            // Copies that start together do not all look at once.
            var round = Int.random(in: 0..<Self.orphanRounds)
            while !Task.isCancelled {
                try? await Task.sleep(for: settings.sweepInterval)
                if Task.isCancelled { break }
                await pool?.endIdle()
                await attempt("reports that wait for symbols not found") {
                    try await SymbolicateAgain.enqueueForgotten(files.postgres, queue)
                }
                await attempt("left pieces of debug files not removed") { try await tidy() }
                round += 1
                if round % Self.orphanRounds == 0 {
                    await attempt("orphaned debug files not removed") { try await removeOrphans(before: Date().addingTimeInterval(-Self.orphanAge)) }
                }
            }
        }
        await pool?.endIdle(before: .now)
        await cache.clear()
    }

    /// Removes what nobody has put together, and gives up what no job works on.
    func tidy() async throws {
        try await files.tidy()
        try await awaited.forgetOld()
        while !Task.isCancelled {
            let blobs = try await chunks.deleteAbandoned(after: settings.uploadLifetime)
            for blob in blobs { try await backend.remove(blob) }
            if blobs.isEmpty { return }
        }
    }

    /// Removes bytes that are older than `date` and belong to no file and no piece.
    func removeOrphans(before date: Date) async throws {
        for app in try await files.apps() {
            let space = SymbolChunkStore.blobSpace(of: app)
            try await backend.removeAbandoned(before: date, in: space)
            let sweep = BlobSweep(files: backend, space: space) { [files] in try await files.used($0, of: app) } rows: { _, _, _, _ in [] }
            _ = try await sweep.run(before: date) { ids in
                for id in ids { if let blob = BlobName(space: space, id: id) { try await backend.remove(blob) } }
            }
        }
    }

    private func attempt(_ failure: Logger.Message, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            guard !Task.isCancelled else { return }
            logger.warning(failure, metadata: ["error.cause": "\(error)"])
        }
    }
}
