package import Foundation
package import Logging
import MartletCore
package import MartletFiles
import MartletJobs
package import MartletPostgres
package import ServiceLifecycle

/// Debug symbols, and the symbolication of crash reports with them.
package struct Symbols: Sendable {
    let postgres: PostgresClient
    let spaces: Spaces
    let settings: SymbolSettings
    let backend: any FileBackend
    let chunks: SymbolChunkStore
    let files: SymbolFileStore
    let awaited: AwaitedSymbols
    /// One for all routes, because it limits how many uploads run at the same time.
    let upload: ChunkUpload
    let assembly: Assembly
    private let symbolication: Symbolication
    let sweep: SymbolSweep

    package init(
        postgres: PostgresClient, spaces: Spaces, files backend: any FileBackend, settings: SymbolSettings,
        logger: Logger, now: @escaping @Sendable () -> Date
    ) {
        let queue = JobQueue(postgres: postgres, schema: ServiceName.analytics.rawValue)
        let cache = DebugFileCache(
            backend: backend, directory: settings.cacheDirectory, maximumSizeInBytes: settings.cacheSizeInBytes)
        let pool = settings.symbolizer.map { SymbolizerPool(program: $0, settings: settings, cache: cache) }
        self.postgres = postgres
        self.spaces = spaces
        self.settings = settings
        self.backend = backend
        chunks = SymbolChunkStore(postgres: postgres)
        files = SymbolFileStore(postgres: postgres, queue: queue)
        awaited = AwaitedSymbols(postgres: postgres)
        upload = ChunkUpload(chunks: chunks, backend: backend, settings: settings)
        assembly = Assembly(chunks: chunks, files: files, settings: settings)
        let store = DebugFileStore(postgres: postgres)
        symbolication = Symbolication(
            store: store, pool: pool,
            demangler: Demangler(
                program: settings.demangler, cache: cache, time: settings.demanglerTime, logger: logger),
            sources: SourceTexts(store: store, backend: backend), frameCache: FrameCache(), time: settings.reportTime,
            logger: logger)
        sweep = SymbolSweep(
            files: files, chunks: chunks, awaited: awaited, backend: backend, settings: settings, cache: cache,
            pool: pool,
            queue: queue, logger: logger, now: now)
        if settings.symbolizer == nil {
            logger.notice("No llvm-symbolizer is available; addresses in crash reports will not be symbolicated.")
        }
        if settings.demangler == nil {
            logger.notice("No swift-demangle is available; names in crash reports will stay mangled.")
        }
    }

    package var background: [any Service] { [sweep] }

    /// - Parameters:
    ///   - rerun: Symbolicates reports again after their symbols have arrived.
    ///   - addSources: Adds source lines to reports after their sources have arrived.
    func handlers(rerun: @escaping SymbolicateAgain.Rerun, addSources: @escaping SymbolicateAgain.Rerun)
        -> [any JobHandler]
    {
        [
            AssembleSymbolFile(files: files, chunks: chunks, backend: backend),
            SymbolicateAgain(postgres: postgres, rerun: rerun),
            AddSources(postgres: postgres, spaces: spaces, rerun: addSources),
        ]
    }

    /// Resolves a report's addresses to functions, files and lines, as far as the app's debug files have them, and
    /// demangles its names.
    ///
    /// Never fails: what cannot be resolved stays as it is. Idempotent: the input may be an earlier result.
    func symbolicate(_ event: JSONValue, in space: Space) async -> SymbolicatedEvent {
        await symbolication.symbolicate(event, of: space.appID)
    }

    /// Demangles Swift names and leaves all others unchanged. Keeps order and count.
    func demangle(_ names: [String]) async -> [String] {
        await symbolication.demangler.readable(names)
    }
}
