import Hummingbird
import MartletHTTP

extension ConfigService {
    /// Translations for clients, and their keys and files for who manages them.
    func addTranslationRoutes(to router: Router<ServiceContext>) {
        router.on(
            .post, "translation", PostTranslation(documents: documents, publisher: publisher, kind: TranslationKind()))
        router.on(.get, "translation/:language/:version", ReadTranslation(live: live, isVersioned: false))
        router.on(.get, "translationVersion/:language/:version", ReadTranslation(live: live, isVersioned: true))

        // Of the kind `translation`; other kinds have none of these.
        router.on(.get, "config/:kind/:name/keys", ListKeys(documents: documents, versions: versions, kinds: kinds))
        // A key that a path cannot hold stands in the query.
        router.on(.put, "config/:kind/:name/keys", EditKey(documents: documents, kinds: kinds, act: .put))
        router.on(.patch, "config/:kind/:name/keys", EditKey(documents: documents, kinds: kinds, act: .patch))
        router.on(.delete, "config/:kind/:name/keys", EditKey(documents: documents, kinds: kinds, act: .delete))
        router.on(.put, "config/:kind/:name/keys/:key", EditKey(documents: documents, kinds: kinds, act: .put))
        router.on(.patch, "config/:kind/:name/keys/:key", EditKey(documents: documents, kinds: kinds, act: .patch))
        router.on(.delete, "config/:kind/:name/keys/:key", EditKey(documents: documents, kinds: kinds, act: .delete))
        router.on(
            .get, "config/:kind/:name/coverage", ReadCoverage(documents: documents, versions: versions, kinds: kinds))
        router.on(.post, "config/:kind/:name/import", ImportTranslations(documents: documents, kinds: kinds))
        router.on(
            .get, "config/:kind/:name/export",
            ExportTranslations(documents: documents, versions: versions, kinds: kinds))
    }
}
