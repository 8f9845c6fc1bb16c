public import Hummingbird
public import MartletHTTP

extension ConfigService {
    /// Staff ask under `/admin/apps/{app}/config/…`, which the gateway makes `/config/…`.
    public func addRoutes(to router: Router<ServiceContext>) {
        router.on(.get, "config/events", FollowConfig(streams: streams))
        router.on(.get, "config/export", ExportDocuments(exchange: exchange))
        router.on(.post, "config/import", ImportDocuments(exchange: exchange, kinds: kinds))
        router.on(.get, "config/schedules", ListSchedules(schedules: schedules))
        router.on(.delete, "config/schedules/:id", CancelSchedule(schedules: schedules))

        addConfigurationRoutes(to: router)
        addFlagsRoutes(to: router)
        addTranslationRoutes(to: router)

        // Documents of any kind
        router.on(.get, "config/:kind", ListDocuments(documents: documents, kinds: kinds))
        router.on(.get, "config/:kind/:name", ReadDraft(documents: documents, kinds: kinds))
        router.on(.put, "config/:kind/:name", EditDraft(documents: documents, live: live, kinds: kinds, isPatch: false))
        router.on(
            .patch, "config/:kind/:name", EditDraft(documents: documents, live: live, kinds: kinds, isPatch: true))
        router.on(.delete, "config/:kind/:name", DeleteDocument(documents: documents, live: live, kinds: kinds))
        router.on(.post, "config/:kind/:name/check", CheckDraft(documents: documents, live: live, kinds: kinds))
        router.on(.post, "config/:kind/:name/publish", PublishDraft(publisher: publisher, kinds: kinds))
        router.on(.post, "config/:kind/:name/rollback", RollBack(publisher: publisher, kinds: kinds))
        router.on(.post, "config/:kind/:name/withdraw", Withdraw(publisher: publisher, kinds: kinds))
        router.on(.post, "config/:kind/:name/promote", Promote(publisher: publisher, kinds: kinds))
        router.on(.get, "config/:kind/:name/versions", ListVersions(versions: versions, kinds: kinds))
        router.on(.get, "config/:kind/:name/versions/:version", ReadVersion(versions: versions, kinds: kinds))
        router.on(
            .get, "config/:kind/:name/diff", CompareVersions(versions: versions, documents: documents, kinds: kinds))

        addExperimentRoutes(to: router)
        addDefinitionRoutes(to: router)
    }
}
