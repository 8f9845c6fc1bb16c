import Hummingbird
import MartletHTTP
import MartletPostgres

extension AnalyticsService {
    /// `/api/0/…` of the gateway is `/crash/api/0/…`: `sentry-cli` knows only servers at the root of their address.
    func addSymbolsRoutes(to router: Router<ServiceContext>) {
        let (files, settings) = (symbols.files, symbols.settings)
        let upload = ChunkUpload(chunks: symbols.chunks, backend: symbols.backend, settings: settings)
        let assembly = Assembly(chunks: symbols.chunks, files: files, settings: settings)
        router.on(.get, "crash/api/0", DescribeSentryAPI())
        router.on(.get, "crash/api/0/organizations/:organization/chunk-upload", DescribeChunkUpload(settings: settings))
        router.on(.post, "crash/api/0/organizations/:organization/chunk-upload", UploadChunks(upload: upload))
        router.on(.post, "crash/api/0/projects/:organization/:project/files/difs/assemble", AssembleDebugFiles(assembly: assembly))

        router.on(.get, "crashes/symbols", ListDebugFiles(files: files))
        router.on(.get, "crashes/symbols/missing", ListMissingSymbols(awaited: symbols.awaited, spaces: spaces))
        router.on(.get, "crashes/symbols/:file", ReadDebugFile(files: files))
        router.on(.delete, "crashes/symbols/:file", DeleteDebugFile(files: files, backend: symbols.backend))
    }
}
