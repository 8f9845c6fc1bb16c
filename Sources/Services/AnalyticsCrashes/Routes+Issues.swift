import MartletHTTP

extension Crashes {
    /// Routes for reading and changing issues, in the area `crashes`.
    func addIssueRoutes(to routes: inout RouteTable) {
        routes.section = .crashes
        routes.on(ListIssues.route, ListIssues(life: life))
        routes.on(ExportIssues.route, ExportIssues(life: life))
        routes.on(ChangeIssues.route, ChangeIssues(life: life))
        routes.on(ReadIssue.route, ReadIssue(life: life))
        routes.on(ChangeIssue.route, ChangeIssue(life: life))
        routes.on(DeleteIssue.route, DeleteIssue(life: life))
        routes.on(ListIssueHistory.route, ListIssueHistory(life: life))
        routes.on(ReadCounts.route, ReadCounts(life: life, isOfIssue: true))
        routes.on(ListTags.route, ListTags(life: life))
        routes.on(ListTagValues.route, ListTagValues(life: life))
        routes.on(ListIssueReleases.route, ListIssueReleases(life: life))
        routes.on(ReadActive.route, ReadActive(life: life))
        routes.on(ListReports.route, ListReports(life: life))
        routes.on(ReadReport.route, ReadReport(life: life))
        routes.on(ReadReportAttachment.route, ReadReportAttachment(life: life))
        routes.on(ListIssueHashes.route, ListIssueHashes(life: life))
        routes.on(MergeIssues.route, MergeIssues(life: life))
        routes.on(PartIssue.route, PartIssue(life: life))

        routes.on(ReadCounts.readCrashCounts, ReadCounts(life: life, isOfIssue: false))
        routes.on(ListReleases.route, ListReleases(life: life))
        routes.on(ReadCrashSettings.route, ReadCrashSettings(life: life))
        routes.on(SetCrashSettings.route, SetCrashSettings(life: life))

        routes.on(ListAlerts.route, ListAlerts(life: life))
        routes.on(CreateAlert.route, CreateAlert(life: life))
        routes.on(ReadAlert.route, ReadAlert(life: life))
        routes.on(ReplaceAlert.route, ReplaceAlert(life: life))
        routes.on(DeleteAlert.route, DeleteAlert(life: life))
        routes.on(RotateAlertSecret.route, RotateAlertSecret(life: life))
        routes.on(TestAlert.route, TestAlert(life: life))
        routes.on(ListAlertDeliveries.route, ListAlertDeliveries(life: life))
        routes.on(RetryAlertDelivery.route, RetryAlertDelivery(life: life))
    }
}
