import MartletHTTP
import MartletPostgres

extension Symbols {
    /// Debug files for staff and the app's server; `sentry-cli` uploads them through `addSentryAPIRoutes`.
    func addRoutes(to routes: inout RouteTable) {
        routes.section = .symbols
        routes.on(ListDebugFiles.route, ListDebugFiles(files: files))
        routes.on(ListMissingSymbols.route, ListMissingSymbols(awaited: awaited, spaces: spaces))
        routes.on(ReadDebugFile.route, ReadDebugFile(files: files))
        routes.on(DeleteDebugFile.route, DeleteDebugFile(files: files, backend: backend))
        routes.on(UploadSymbolChunks.route, UploadSymbolChunks(upload: upload))
        routes.on(AssembleSymbolFiles.route, AssembleSymbolFiles(assembly: assembly))
    }
}
