public import Hummingbird
public import MartletHTTP

extension StorageService {
    // The router knows one name for one place in a path, so what is `id` in one route is `skip` in another.
    public func addRoutes(to router: Router<ServiceContext>) {
        router.on(.get, "storage/:collection", ListObjects(objects: objects, rights: rights))
        router.on(.get, "storage/:collection/:id/:limit", ListObjects(objects: objects, rights: rights))
        router.on(.post, "storage/:collection", CreateObject(idempotency: idempotency, rights: rights))
        router.on(.get, "storage/:collection/:id", ReadObject(objects: objects, rights: rights))
        router.on(.put, "storage/:collection/:id", ReplaceObject(idempotency: idempotency, rights: rights))
        router.on(.patch, "storage/:collection/:id", ChangeObject(idempotency: idempotency, rights: rights))
        router.on(.delete, "storage/:collection/:id", DeleteObject(objects: objects, rights: rights))
        router.on(.post, "storage/batch", RunBatch(batch: batch, idempotency: idempotency, rights: rights))
        router.on(.post, "storage/all/:collection", CreateObjects(idempotency: idempotency, rights: rights))
        router.on(.post, "storage/query/:collection", QueryObjects(objects: objects, rights: rights))
        router.on(.post, "storage/query/:collection/:id/:limit", QueryObjects(objects: objects, rights: rights))
        router.on(.post, "storage/remove/:collection/:id", RemoveObject(idempotency: idempotency, rights: rights))

        router.on(.post, "storage/aggregate/:collection", AggregateObjects(objects: objects, rights: rights))
        router.on(.post, "storage/distinct/:collection", DistinctValues(objects: objects, rights: rights))
        router.on(.get, "collections/:collection/advice", ListAdvice(objects: objects))

        router.on(.get, "collections", ListCollections(collections: collections))
        router.on(.delete, "collections/:collection", DropCollection(collections: collections))
        router.on(.post, "collections/:collection/rename", RenameCollection(collections: collections))
        router.on(.get, "collections/:collection/indexes", ListIndexes(indexes: indexes))
        router.on(.post, "collections/:collection/indexes", CreateIndex(indexes: indexes))
        router.on(.delete, "collections/:collection/indexes/:index", DropIndex(indexes: indexes))
        router.on(.get, "collections/:collection/rules", ReadRules(rules: rules))
        router.on(.put, "collections/:collection/rules", SetRules(rules: rules))

        router.on(.get, "roles", ListRoles(roles: roles))
        router.on(.get, "roles/:role", ReadRole(roles: roles))
        router.on(.put, "roles/:role", ChangeRole(roles: roles))
        router.on(.delete, "roles/:role", DeleteRole(roles: roles))
    }
}
