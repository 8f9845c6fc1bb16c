import MartletHTTP

extension ConfigService {
    /// Translations for clients, and their keys and files for who manages them.
    func addTranslationRoutes(to routes: inout RouteTable) {
        routes.on(
            PostTranslation.route, PostTranslation(documents: documents, publisher: publisher, kind: TranslationKind()))
        routes.section = .config
        routes.on(ReadTranslation.route, ReadTranslation(live: live, isVersioned: false))
        routes.on(ReadTranslation.readTranslationVersion, ReadTranslation(live: live, isVersioned: true))

        // Of the kind `translation`; other kinds have none of these.
        routes.on(ListKeys.route, ListKeys(documents: documents, versions: versions, kinds: kinds))
        // A key that a path cannot hold stands in the query.
        routes.on(EditKey.route, EditKey(documents: documents, kinds: kinds, act: .put))
        routes.on(EditKey.patchTranslationKeyByQuery, EditKey(documents: documents, kinds: kinds, act: .patch))
        routes.on(EditKey.deleteTranslationKeyByQuery, EditKey(documents: documents, kinds: kinds, act: .delete))
        routes.on(EditKey.putTranslationKey, EditKey(documents: documents, kinds: kinds, act: .put))
        routes.on(EditKey.patchTranslationKey, EditKey(documents: documents, kinds: kinds, act: .patch))
        routes.on(EditKey.deleteTranslationKey, EditKey(documents: documents, kinds: kinds, act: .delete))
        routes.on(ReadCoverage.route, ReadCoverage(documents: documents, versions: versions, kinds: kinds))
        routes.on(ImportTranslations.route, ImportTranslations(documents: documents, kinds: kinds))
        routes.on(ExportTranslations.route, ExportTranslations(documents: documents, versions: versions, kinds: kinds))
    }
}
