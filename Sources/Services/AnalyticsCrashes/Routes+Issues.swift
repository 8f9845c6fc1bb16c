import MartletHTTP

extension Crashes {
    /// Routes for reading and changing issues, in the area `crashes`.
    func addIssueRoutes(to routes: inout RouteTable) {
        routes.section = .crashes
        routes.on(ListIssues.route, ListIssues(tracking: tracking))
        routes.on(ExportIssues.route, ExportIssues(tracking: tracking))
        routes.on(ChangeIssues.route, ChangeIssues(tracking: tracking))
        routes.on(ReadIssue.route, ReadIssue(tracking: tracking))
        routes.on(ChangeIssue.route, ChangeIssue(tracking: tracking))
        routes.on(DeleteIssue.route, DeleteIssue(tracking: tracking))
        routes.on(ListIssueHistory.route, ListIssueHistory(tracking: tracking))
        routes.on(ReadCounts.route, ReadCounts(tracking: tracking, isOfIssue: true))
        routes.on(ListTags.route, ListTags(tracking: tracking))
        routes.on(ListTagValues.route, ListTagValues(tracking: tracking))
        routes.on(ListIssueReleases.route, ListIssueReleases(tracking: tracking))
        routes.on(ReadActive.route, ReadActive(tracking: tracking))
        routes.on(ListReports.route, ListReports(tracking: tracking))
        routes.on(ReadReport.route, ReadReport(tracking: tracking))
        routes.on(ReadReportAttachment.route, ReadReportAttachment(tracking: tracking))
        routes.on(ListIssueHashes.route, ListIssueHashes(tracking: tracking))
        routes.on(MergeIssues.route, MergeIssues(tracking: tracking))
        routes.on(SplitIssue.route, SplitIssue(tracking: tracking))

        routes.on(ReadCounts.readCrashCounts, ReadCounts(tracking: tracking, isOfIssue: false))
        routes.on(ListReleases.route, ListReleases(tracking: tracking))
        routes.on(ReadCrashSettings.route, ReadCrashSettings(tracking: tracking))
        routes.on(SetCrashSettings.route, SetCrashSettings(tracking: tracking))

        routes.on(ListAlerts.route, ListAlerts(tracking: tracking))
        routes.on(CreateAlert.route, CreateAlert(tracking: tracking))
        routes.on(ReadAlert.route, ReadAlert(tracking: tracking))
        routes.on(ReplaceAlert.route, ReplaceAlert(tracking: tracking))
        routes.on(DeleteAlert.route, DeleteAlert(tracking: tracking))
        routes.on(RotateAlertSecret.route, RotateAlertSecret(tracking: tracking))
        routes.on(TestAlert.route, TestAlert(tracking: tracking))
        routes.on(ListAlertDeliveries.route, ListAlertDeliveries(tracking: tracking))
        routes.on(RetryAlertDelivery.route, RetryAlertDelivery(tracking: tracking))
    }
}
