public import Hummingbird
public import MartletHTTP

extension StorageService {
    // The router knows one name for one place in a path, so what is `id` in one route is `skip` in another.
    public func addRoutes(to router: Router<ServiceContext>) {
        router.on(.get, "storage/:collection", ListObjects(objects: objects, rights: rights, envelope: envelope))
        router.on(
            .get, "storage/:collection/:id/:limit", ListObjects(objects: objects, rights: rights, envelope: envelope))
        router.on(.post, "storage/:collection", CreateObject(idempotency: idempotency, rights: rights, before: before))
        router.on(.get, "storage/:collection/:id", ReadObject(objects: objects, rights: rights))
        router.on(
            .put, "storage/:collection/:id", ReplaceObject(idempotency: idempotency, rights: rights, before: before))
        router.on(
            .patch, "storage/:collection/:id", ChangeObject(idempotency: idempotency, rights: rights, before: before))
        router.on(.delete, "storage/:collection/:id", DeleteObject(objects: objects, rights: rights, before: before))
        router.on(.post, "storage/batch", RunBatch(batch: batch, idempotency: idempotency, rights: rights))
        router.on(
            .post, "storage/all/:collection",
            CreateObjects(idempotency: idempotency, rights: rights, before: before, envelope: envelope))
        router.on(
            .post, "storage/query/:collection", QueryObjects(objects: objects, rights: rights, envelope: envelope))
        router.on(
            .post, "storage/query/:collection/:id/:limit",
            QueryObjects(objects: objects, rights: rights, envelope: envelope))
        router.on(
            .post, "storage/remove/:collection/:id",
            RemoveObject(idempotency: idempotency, rights: rights, before: before))

        router.on(
            .post, "storage/aggregate/:collection",
            AggregateObjects(objects: objects, rights: rights, envelope: envelope))
        router.on(
            .post, "storage/distinct/:collection", DistinctValues(objects: objects, rights: rights, envelope: envelope))
        router.on(.get, "collections/:collection/advice", ListAdvice(objects: objects, indexes: indexes))

        router.on(.get, "collections", ListCollections(collections: collections))
        router.on(
            .delete, "collections/:collection",
            DropCollection(collections: collections, builds: indexes.builds, rights: rights))
        router.on(
            .post, "collections/:collection/rename",
            RenameCollection(collections: collections, builds: indexes.builds, rights: rights))
        router.on(.get, "collections/:collection/indexes", ListIndexes(indexes: indexes))
        router.on(.post, "collections/:collection/indexes", CreateIndex(indexes: indexes, rights: rights))
        router.on(.delete, "collections/:collection/indexes/:index", DropIndex(indexes: indexes, rights: rights))
        router.on(.get, "collections/:collection/rules", ReadRules(rules: rules))
        router.on(.put, "collections/:collection/rules", SetRules(rules: rules))

        router.on(.get, "live/:collection", FollowCollection(live: live))
        router.on(.get, "internal/live/relay", OpenRelay(relays: live.relays))
        router.on(.get, "changes/:collection", ReadChanges(feed: feed, rights: rights))
        router.on(.post, "internal/changes", ReadLog(feed: changeFeed))
        router.on(.post, "internal/objects", LookUpObjects(lookUp: lookUp))

        router.on(.get, "roles", ListRoles(roles: roles))
        router.on(.get, "roles/:role", ReadRole(roles: roles))
        router.on(.put, "roles/:role", ChangeRole(roles: roles))
        router.on(.delete, "roles/:role", DeleteRole(roles: roles))
        router.on(.get, "auth/me/roles", ReadOwnRoles(rights: rights))
        router.on(.post, "internal/users/roles", ReadRolesOfUser(rights: rights))

        // Files
        router.on(.get, "upload", ReadFile(files: files, thumbnails: thumbnails, rights: rights))
        router.on(.get, "upload/**", ReadFile(files: files, thumbnails: thumbnails, rights: rights))
        router.on(.post, "upload", UploadFile(intake: intake, rights: rights, takesDirectory: true))
        router.on(.post, "upload/**", UploadFile(intake: intake, rights: rights, takesDirectory: true))
        router.on(.put, "upload/**", UploadFile(intake: intake, rights: rights, takesDirectory: false))
        router.on(.patch, "upload/**", ChangeFile(files: files, rights: rights))
        router.on(.delete, "upload/**", DeleteFile(files: files, rights: rights))
        router.on(.get, "upload-history", ReadUploadHistory(files: files, rights: rights))
        router.on(.get, "upload-history/**", ReadUploadHistory(files: files, rights: rights))
        router.on(.post, "upload-link/**", CreateLink(files: files, settings: fileSettings, rights: rights))
        router.on(.get, "link/:token/**", OpenLink(files: files, thumbnails: thumbnails))
        router.on(.get, "files/usage", ReadFileUsage(files: files))
        router.on(.get, "admin/apps/:app/storage/files", ReadFileUsage(files: files))
        router.on(.put, "admin/apps/:app/storage/files", SetFileLimits(files: files))
        router.on(.options, "files/tus", DescribeTus(settings: fileSettings))
        router.on(.post, "files/tus", CreateTransfer(uploads: tusUploads, rights: rights))
        router.on(.head, "files/tus/:id", ReadTransfer(uploads: tusUploads, rights: rights))
        router.on(.patch, "files/tus/:id", ContinueTransfer(uploads: tusUploads, rights: rights))
        router.on(.delete, "files/tus/:id", DeleteTransfer(uploads: tusUploads, rights: rights))
        // In and out, jobs, environments
        router.on(
            .get, "collections/:collection", ReadCollection(collections: collections, indexes: indexes, rights: rights))
        router.on(
            .post, "imports/:collection",
            StartImport(transfers: transfers, maximumSizeInBytes: maximumImportSizeInBytes))
        router.on(.get, "exports/:collection", StreamExport(transfers: transfers))
        router.on(.post, "exports/:collection", StartExport(transfers: transfers))
        router.on(.get, "jobs", ListJobs(transfers: transfers))
        router.on(.get, "jobs/:id", ReadJob(transfers: transfers))
        router.on(.delete, "jobs/:id", CancelJob(transfers: transfers))
        router.on(.get, "jobs/:id/result", FetchJobResult(transfers: transfers))
        router.on(.post, "environment/copy", StartEnvironmentCopy(transfers: transfers))
        router.on(.put, "environment", OpenEnvironment(transfers: transfers))
        router.on(.delete, "environment", WipeEnvironment(transfers: transfers))

        // Hooks
        router.on(.get, "hooks", ListHooks(hooks: hooks))
        router.on(.get, "hooks/:name", ReadHook(hooks: hooks))
        router.on(.put, "hooks/:name", SetHook(hooks: hooks, client: hookClient, secrets: hookSettings.secrets))
        router.on(.delete, "hooks/:name", DeleteHook(hooks: hooks))
        router.on(.post, "hooks/:name/secret", RotateHookSecret(hooks: hooks, secrets: hookSettings.secrets))
        router.on(.get, "hooks/:name/deliveries", ListDeliveries(hooks: hooks, deliveries: deliveries))
        router.on(.get, "hooks/:name/failures", ListHookFailures(hooks: hooks, ledger: hookLedger))
        router.on(.post, "hooks/:name/deliveries/:id/retry", RetryDelivery(deliveries: deliveries))
        router.on(
            .post, "functions/:name", CallFunction(hooks: hooks, client: hookClient, ledger: hookLedger, rights: rights)
        )
    }
}
