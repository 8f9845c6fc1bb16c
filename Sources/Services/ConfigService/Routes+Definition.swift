import Hummingbird
import MartletHTTP

extension ConfigService {
    /// App definitions, as clients get them.
    func addDefinitionRoutes(to router: Router<ServiceContext>) {
        let choice = DefinitionChoice(editions: DefinitionEditions(versions: versions))
        router.on(.get, "definitions/keys", ListDefinitionKeys(keys: definitionKeys))
        router.on(.post, "config/:kind/:name/preview", PreviewDefinition(previews: previews, kinds: kinds))
        router.on(.get, "config/:kind/:name/preview", ListPreviews(previews: previews.store, kinds: kinds))
        router.on(.delete, "config/:kind/:name/preview/:id", RevokePreview(previews: previews.store, kinds: kinds))
        let manifests = DefinitionManifests(keys: definitionKeys)
        router.on(
            .get, "definitions/:name/manifest",
            ReadManifest(live: live, choice: choice, manifests: manifests, previews: previews, users: users))
        router.on(.get, "definitions/:name/parts/:sha256", ReadPart(live: live, choice: choice, previews: previews))
    }
}
