import MartletHTTP
import MartletPostgres

extension AnalyticsService {
    /// Debug files for staff; `sentry-cli` uploads them through `addSentryAPIRoutes`.
    func addSymbolsRoutes(to routes: inout RouteTable) {
        let files = symbols.files
        routes.section = .symbols
        routes.on(ListDebugFiles.route, ListDebugFiles(files: files))
        routes.on(ListMissingSymbols.route, ListMissingSymbols(awaited: symbols.awaited, spaces: spaces))
        routes.on(ReadDebugFile.route, ReadDebugFile(files: files))
        routes.on(DeleteDebugFile.route, DeleteDebugFile(files: files, backend: symbols.backend))
    }
}
