public import MartletHTTP

extension ConfigService {
    /// Staff call `/admin/apps/{app}/config/…`; the gateway forwards this to `/config/…`.
    public func addRoutes(to routes: inout RouteTable) {
        routes.section = .config
        routes.on(FollowConfig.route, FollowConfig(streams: streams))
        routes.on(ExportDocuments.route, ExportDocuments(exchange: exchange))
        routes.on(ImportDocuments.route, ImportDocuments(exchange: exchange, kinds: kinds))
        routes.on(ListSchedules.route, ListSchedules(schedules: schedules))
        routes.on(CancelSchedule.route, CancelSchedule(schedules: schedules))

        addConfigurationRoutes(to: &routes)
        addFlagsRoutes(to: &routes)
        addTranslationRoutes(to: &routes)

        routes.section = .config
        // Documents of any kind
        routes.on(ListDocuments.route, ListDocuments(documents: documents, kinds: kinds))
        routes.on(ReadDraft.route, ReadDraft(documents: documents, kinds: kinds))
        routes.on(EditDraft.route, EditDraft(documents: documents, live: live, kinds: kinds, isPatch: false))
        routes.on(EditDraft.changeDraft, EditDraft(documents: documents, live: live, kinds: kinds, isPatch: true))
        routes.on(DeleteDocument.route, DeleteDocument(documents: documents, live: live, kinds: kinds))
        routes.on(CheckDraft.route, CheckDraft(documents: documents, live: live, kinds: kinds))
        routes.on(PublishDraft.route, PublishDraft(publisher: publisher, kinds: kinds))
        routes.on(RollBack.route, RollBack(publisher: publisher, kinds: kinds))
        routes.on(Withdraw.route, Withdraw(publisher: publisher, kinds: kinds))
        routes.on(Promote.route, Promote(publisher: publisher, kinds: kinds))
        routes.on(ListVersions.route, ListVersions(versions: versions, kinds: kinds))
        routes.on(ReadVersion.route, ReadVersion(versions: versions, kinds: kinds))
        routes.on(CompareVersions.route, CompareVersions(versions: versions, documents: documents, kinds: kinds))

        addExperimentRoutes(to: &routes)
        addDefinitionRoutes(to: &routes)
    }
}
