import MartletHTTP

extension ConfigService {
    /// Translations for clients, and the management of their keys and files.
    func addTranslationRoutes(to routes: inout RouteTable) {
        routes.section = .config
        routes.on(
            PostTranslation.route, PostTranslation(documents: documents, publisher: publisher, kind: TranslationKind()))
        routes.on(ReadTranslation.route, ReadTranslation(live: live, isVersioned: false))
        routes.on(ReadTranslation.readTranslationVersion, ReadTranslation(live: live, isVersioned: true))

        // Only the kind `translation` has these routes; other kinds are 404.
        routes.on(ListKeys.route, ListKeys(documents: documents, versions: versions, kinds: kinds))
        // Keys that cannot be part of a path are sent in the query.
        routes.on(EditKey.route, EditKey(documents: documents, kinds: kinds, action: .put))
        routes.on(EditKey.patchTranslationKeyByQuery, EditKey(documents: documents, kinds: kinds, action: .patch))
        routes.on(EditKey.deleteTranslationKeyByQuery, EditKey(documents: documents, kinds: kinds, action: .delete))
        routes.on(EditKey.putTranslationKey, EditKey(documents: documents, kinds: kinds, action: .put))
        routes.on(EditKey.patchTranslationKey, EditKey(documents: documents, kinds: kinds, action: .patch))
        routes.on(EditKey.deleteTranslationKey, EditKey(documents: documents, kinds: kinds, action: .delete))
        routes.on(ReadCoverage.route, ReadCoverage(documents: documents, versions: versions, kinds: kinds))
        routes.on(ImportTranslations.route, ImportTranslations(documents: documents, kinds: kinds))
        routes.on(ExportTranslations.route, ExportTranslations(documents: documents, versions: versions, kinds: kinds))
    }
}
