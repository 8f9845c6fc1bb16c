import Foundation
import Logging
import MartletCore
import MartletFiles
import MartletHTTP
import MartletJobs
import MartletPostgres
import ServiceLifecycle

/// Debug symbols, and addresses turned into lines by them.
struct Symbols: Sendable {
    let postgres: PostgresClient
    let spaces: Spaces
    let settings: SymbolSettings
    let backend: any FileBackend
    let chunks: SymbolChunkStore
    let files: SymbolFileStore
    let awaited: AwaitedSymbols
    private let symbolication: Symbolication
    let sweep: SymbolSweep

    init(postgres: PostgresClient, spaces: Spaces, files backend: any FileBackend, settings: SymbolSettings, logger: Logger) {
        let queue = JobQueue(postgres: postgres, schema: AnalyticsService.name)
        let cache = DebugFileCache(backend: backend, directory: settings.cacheDirectory, maximumSizeInBytes: settings.cacheSizeInBytes)
        let pool = settings.symbolizer.map { SymbolizerPool(program: $0, settings: settings, cache: cache) }
        self.postgres = postgres
        self.spaces = spaces
        self.settings = settings
        self.backend = backend
        chunks = SymbolChunkStore(postgres: postgres)
        files = SymbolFileStore(postgres: postgres, queue: queue)
        awaited = AwaitedSymbols(postgres: postgres)
        let store = DebugFileStore(postgres: postgres)
        symbolication = Symbolication(
            store: store, pool: pool, demangler: Demangler(program: settings.demangler, cache: cache, logger: logger),
            sources: SourceTexts(store: store, backend: backend), remembered: RememberedFrames(), logger: logger)
        sweep = SymbolSweep(
            files: files, chunks: chunks, awaited: awaited, backend: backend, settings: settings, cache: cache, pool: pool,
            queue: queue, logger: logger)
        if settings.symbolizer == nil { logger.notice("there is no llvm-symbolizer: addresses in crash reports stay addresses") }
        if settings.demangler == nil { logger.notice("there is no swift-demangle: names in crash reports stay mangled") }
    }

    var background: [any Service] { [sweep] }

    /// - Parameters:
    ///   - rerun: reads reports again whose symbols have come.
    ///   - addSources: the same where sources have come.
    func handlers(rerun: @escaping SymbolicateAgain.Rerun, addSources: @escaping SymbolicateAgain.Rerun) -> [any JobHandler] {
        [
            AssembleSymbolFile(files: files, chunks: chunks, backend: backend), SymbolicateAgain(postgres: postgres, rerun: rerun),
            AddSources(postgres: postgres, spaces: spaces, rerun: addSources),
        ]
    }

    /// A report with functions, files and lines for its addresses, as far as the app's debug files have them, and with readable names.
    ///
    /// Never fails: what cannot be found stays as it is. May be given what it has made before: the outcome is the same.
    func symbolicate(_ event: JSONValue, in space: Space) async -> SymbolicatedEvent {
        await symbolication.symbolicate(event, of: space.appID)
    }

    /// Swift's mangled names as people write them; other names as they are. Same order and count.
    func demangle(_ names: [String]) async -> [String] {
        await symbolication.demangler.readable(names)
    }
}
