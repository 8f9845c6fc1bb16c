public import MartletHTTP

extension StorageService {
    public func addRoutes(to routes: inout RouteTable) {
        routes.section = .objects
        routes.on(ListObjects.route, ListObjects(objects: objects, rights: rights, envelope: envelope))
        routes.on(ListObjects.listObjectsPage, ListObjects(objects: objects, rights: rights, envelope: envelope))
        routes.on(CreateObject.route, CreateObject(idempotency: idempotency, rights: rights, before: before))
        routes.on(ReadObject.route, ReadObject(objects: objects, rights: rights))
        routes.on(ReplaceObject.route, ReplaceObject(idempotency: idempotency, rights: rights, before: before))
        routes.on(ChangeObject.route, ChangeObject(idempotency: idempotency, rights: rights, before: before))
        routes.on(DeleteObject.route, DeleteObject(idempotency: idempotency, rights: rights, before: before))
        routes.on(RunBatch.route, RunBatch(batch: batch, idempotency: idempotency, rights: rights))
        routes.on(
            CreateObjects.route,
            CreateObjects(idempotency: idempotency, rights: rights, before: before, envelope: envelope))
        routes.on(QueryObjects.route, QueryObjects(objects: objects, rights: rights, envelope: envelope))
        routes.on(QueryObjects.queryObjectsPage, QueryObjects(objects: objects, rights: rights, envelope: envelope))
        routes.on(RemoveObject.route, RemoveObject(idempotency: idempotency, rights: rights, before: before))

        routes.on(AggregateObjects.route, AggregateObjects(objects: objects, rights: rights, envelope: envelope))
        routes.on(DistinctValues.route, DistinctValues(objects: objects, rights: rights, envelope: envelope))
        routes.section = .collections
        routes.on(ListAdvice.route, ListAdvice(slowQueries: slowQueries, indexes: indexes))

        routes.on(ReadObjectUsage.route, ReadObjectUsage(quota: quota))
        routes.on(ListCollections.route, ListCollections(collections: collections))
        routes.on(
            DropCollection.route, DropCollection(collections: collections, builds: indexes.builds, rights: rights))
        routes.on(
            RenameCollection.route, RenameCollection(collections: collections, builds: indexes.builds, rights: rights))
        routes.on(ListIndexes.route, ListIndexes(indexes: indexes))
        routes.on(CreateIndex.route, CreateIndex(indexes: indexes, rights: rights))
        routes.on(DropIndex.route, DropIndex(indexes: indexes, rights: rights))
        routes.on(ReadRules.route, ReadRules(rules: rules))
        routes.on(SetRules.route, SetRules(rules: rules))
        routes.on(TestRules.route, TestRules(rules: rules, objects: objects))
        routes.on(ListRuleVersions.route, ListRuleVersions(versions: ruleVersions))
        routes.on(ReadRuleVersion.route, ReadRuleVersion(versions: ruleVersions))
        routes.on(CompareRuleVersions.route, CompareRuleVersions(versions: ruleVersions))
        routes.on(RestoreRuleVersion.route, RestoreRuleVersion(versions: ruleVersions, rules: rules))
        routes.on(ReadAllRules.route, ReadAllRules(rules: rules))
        routes.on(SetAllRules.route, SetAllRules(rules: rules))
        routes.on(ReadRuleSettings.route, ReadRuleSettings(rules: rules))
        routes.on(SetRuleSettings.route, SetRuleSettings(rules: rules))
        routes.on(ReadRuleReport.route, ReadRuleReport(rules: rules))
        routes.on(ReadSchema.route, ReadSchema(schemas: schemas))
        routes.on(SetSchema.route, SetSchema(schemas: schemas, transfers: transfers))
        routes.on(RemoveSchema.route, RemoveSchema(schemas: schemas))

        routes.section = .objects
        routes.on(FollowCollection.route, FollowCollection(live: live))
        routes.on(OpenRelay.route, OpenRelay(relays: live.relays))
        routes.on(ReadChanges.route, ReadChanges(feed: feed, rights: rights))
        routes.on(ReadLog.route, ReadLog(feed: changeFeed))
        routes.on(LookUpObjects.route, LookUpObjects(lookUp: lookUp))
        routes.on(StoreUserDocuments.route, StoreUserDocuments(documents: userDocuments))

        routes.on(ReportObject.route, ReportObject(reports: reports, rights: rights))
        routes.on(ListReports.route, ListReports(reports: reports))
        routes.on(ReadReport.route, ReadReport(reports: reports))
        routes.on(ResolveReport.route, ResolveReport(reports: reports))

        routes.section = .roles
        routes.on(ListRoles.route, ListRoles(roles: roles))
        routes.on(ReadRole.route, ReadRole(roles: roles, rights: rights))
        routes.on(ChangeRole.route, ChangeRole(roles: roles, rights: rights))
        routes.on(DeleteRole.route, DeleteRole(roles: roles))
        routes.on(LeaveRole.route, LeaveRole(roles: roles, rights: rights))
        routes.on(
            CreateRoleInvitation.route,
            CreateRoleInvitation(invitations: roleInvitations, rights: rights, mailing: roleInvitationMailing))
        routes.on(ListRoleInvitations.route, ListRoleInvitations(invitations: roleInvitations, rights: rights))
        routes.on(RevokeRoleInvitation.route, RevokeRoleInvitation(invitations: roleInvitations, rights: rights))
        routes.on(JoinRole.route, JoinRole(invitations: roleInvitations, rights: rights))
        routes.on(ListBlocks.route, ListBlocks(blocks: blocks, rights: rights))
        routes.on(BlockUser.route, BlockUser(blocks: blocks, rights: rights))
        routes.on(UnblockUser.route, UnblockUser(blocks: blocks, rights: rights))
        routes.on(ReadBlockersOfUser.route, ReadBlockersOfUser(blocks: blocks))
        routes.on(ReadOwnRoles.route, ReadOwnRoles(rights: rights))
        routes.on(ReadRolesOfUser.route, ReadRolesOfUser(rights: rights))

        routes.section = .files
        routes.on(ReadFile.route, ReadFile(files: files, thumbnails: thumbnails, rights: rights))
        routes.on(ReadFile.readFile, ReadFile(files: files, thumbnails: thumbnails, rights: rights))
        routes.on(
            ReadObjectFile.route,
            ReadObjectFile(files: ObjectFiles(files: files), thumbnails: thumbnails, rights: rights))
        routes.on(UploadFile.route, UploadFile(receiver: receiver, rights: rights, acceptsDirectory: true))
        routes.on(
            UploadFile.uploadIntoDirectory, UploadFile(receiver: receiver, rights: rights, acceptsDirectory: true))
        routes.on(UploadFile.uploadFile, UploadFile(receiver: receiver, rights: rights, acceptsDirectory: false))
        routes.on(ChangeFile.route, ChangeFile(files: files, rights: rights))
        routes.on(DeleteFile.route, DeleteFile(files: files, rights: rights))
        routes.on(ReadUploadHistory.route, ReadUploadHistory(files: files, rights: rights))
        routes.on(ReadUploadHistory.readFileHistory, ReadUploadHistory(files: files, rights: rights))
        routes.on(CreateLink.route, CreateLink(files: files, settings: fileSettings, rights: rights))
        routes.on(OpenLink.route, OpenLink(files: files, thumbnails: thumbnails))
        routes.on(SetFileVerdict.route, SetFileVerdict(files: files, verdicts: fileVerdicts))
        routes.on(ReadFileUsage.route, ReadFileUsage(files: files))
        routes.section = .apps
        routes.on(SetFileLimits.route, SetFileLimits(files: files))
        routes.on(SetObjectLimits.route, SetObjectLimits(quota: quota))
        routes.section = .files
        routes.on(DescribeTus.route, DescribeTus(settings: fileSettings))
        routes.on(CreateTransfer.route, CreateTransfer(uploads: tusUploads, rights: rights))
        routes.on(ReadTransfer.route, ReadTransfer(uploads: tusUploads, rights: rights))
        routes.on(ContinueTransfer.route, ContinueTransfer(uploads: tusUploads, rights: rights))
        routes.on(DeleteTransfer.route, DeleteTransfer(uploads: tusUploads, rights: rights))
        routes.on(OverrideTransfer.route, OverrideTransfer(uploads: tusUploads, rights: rights))
        routes.section = .collections
        routes.on(ReadCollection.route, ReadCollection(collections: collections, indexes: indexes, rights: rights))
        routes.section = .transfers
        routes.on(StartImport.route, StartImport(transfers: transfers, maximumSizeInBytes: maximumImportSizeInBytes))
        routes.on(StreamExport.route, StreamExport(transfers: transfers))
        routes.on(StartExport.route, StartExport(transfers: transfers))
        routes.on(ListJobs.route, ListJobs(transfers: transfers))
        routes.on(ReadJob.route, ReadJob(transfers: transfers))
        routes.on(CancelJob.route, CancelJob(transfers: transfers))
        routes.on(FetchJobResult.route, FetchJobResult(transfers: transfers))
        routes.on(StartEnvironmentCopy.route, StartEnvironmentCopy(transfers: transfers))
        routes.on(OpenEnvironment.route, OpenEnvironment(transfers: transfers))
        routes.on(WipeEnvironment.route, WipeEnvironment(transfers: transfers))

        routes.section = .hooks
        routes.on(ListHooks.route, ListHooks(hooks: hooks))
        routes.on(ReadHook.route, ReadHook(hooks: hooks))
        routes.on(SetHook.route, SetHook(hooks: hooks, client: hookClient, secrets: hookSettings.secrets))
        routes.on(DeleteHook.route, DeleteHook(hooks: hooks))
        routes.on(RotateHookSecret.route, RotateHookSecret(hooks: hooks, secrets: hookSettings.secrets))
        routes.on(ListDeliveries.route, ListDeliveries(hooks: hooks, deliveries: deliveries))
        routes.on(ListHookFailures.route, ListHookFailures(hooks: hooks, ledger: hookLedger))
        routes.on(RetryDelivery.route, RetryDelivery(deliveries: deliveries))
        routes.on(
            CallFunction.route, CallFunction(hooks: hooks, client: hookClient, ledger: hookLedger, rights: rights)
        )
    }
}
