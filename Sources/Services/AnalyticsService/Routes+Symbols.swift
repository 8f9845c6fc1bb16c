import Hummingbird
import MartletHTTP
import MartletPostgres

extension AnalyticsService {
    /// Debug files for staff; `sentry-cli` uploads them through `addSentryAPIRoutes`.
    func addSymbolsRoutes(to router: Router<ServiceContext>) {
        let files = symbols.files
        router.on(.get, "crashes/symbols", ListDebugFiles(files: files))
        router.on(.get, "crashes/symbols/missing", ListMissingSymbols(awaited: symbols.awaited, spaces: spaces))
        router.on(.get, "crashes/symbols/:file", ReadDebugFile(files: files))
        router.on(.delete, "crashes/symbols/:file", DeleteDebugFile(files: files, backend: symbols.backend))
    }
}
