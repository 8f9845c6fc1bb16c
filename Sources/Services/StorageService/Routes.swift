public import Hummingbird
public import MartletHTTP

extension StorageService {
    // The router knows one name for one place in a path, so what is `id` in one route is `skip` in another.
    public func addRoutes(to router: Router<ServiceContext>) {
        router.on(.get, "storage/:collection", ListObjects(objects: objects, rights: rights))
        router.on(.get, "storage/:collection/:id/:limit", ListObjects(objects: objects, rights: rights))
        router.on(.post, "storage/:collection", CreateObject(objects: objects, rights: rights))
        router.on(.get, "storage/:collection/:id", ReadObject(objects: objects, rights: rights))
        router.on(.put, "storage/:collection/:id", ReplaceObject(objects: objects, rights: rights))
        router.on(.patch, "storage/:collection/:id", ChangeObject(objects: objects, rights: rights))
        router.on(.delete, "storage/:collection/:id", DeleteObject(objects: objects, rights: rights))
        router.on(.post, "storage/all/:collection", CreateObjects(objects: objects, rights: rights))
        router.on(.post, "storage/query/:collection", QueryObjects(objects: objects, rights: rights))
        router.on(.post, "storage/query/:collection/:id/:limit", QueryObjects(objects: objects, rights: rights))
        router.on(.post, "storage/remove/:collection/:id", RemoveObject(objects: objects, rights: rights))

        router.on(.get, "collections", ListCollections(collections: collections))
        router.on(.delete, "collections/:collection", DropCollection(collections: collections))
        router.on(.post, "collections/:collection/rename", RenameCollection(collections: collections))
        router.on(.get, "collections/:collection/indexes", ListIndexes(indexes: indexes))
        router.on(.post, "collections/:collection/indexes", CreateIndex(indexes: indexes))
        router.on(.delete, "collections/:collection/indexes/:index", DropIndex(indexes: indexes))
    }
}
