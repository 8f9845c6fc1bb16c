import MartletHTTP

extension ConfigService {
    /// App definitions for clients, and previews of their drafts.
    func addDefinitionRoutes(to routes: inout RouteTable) {
        let choice = DefinitionChoice(editions: DefinitionEditions(versions: versions))
        routes.section = .config
        routes.on(ListDefinitionKeys.route, ListDefinitionKeys(keys: definitionKeys))
        routes.on(PreviewDefinition.route, PreviewDefinition(previews: previews, kinds: kinds))
        routes.on(ListPreviews.route, ListPreviews(previews: previews.store, kinds: kinds))
        routes.on(RevokePreview.route, RevokePreview(previews: previews.store, kinds: kinds))
        let manifests = DefinitionManifests(keys: definitionKeys, now: now)
        routes.on(
            ReadManifest.route,
            ReadManifest(live: live, choice: choice, manifests: manifests, previews: previews, users: users))
        routes.on(ReadPart.route, ReadPart(live: live, choice: choice, previews: previews))
    }
}
