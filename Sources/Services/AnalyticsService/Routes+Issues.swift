import Hummingbird
import MartletHTTP

extension AnalyticsService {
    /// Routes for reading and changing issues; area `crashes`.
    func addIssueRoutes(to router: Router<ServiceContext>) {
        let life = crashes.life
        router.on(.get, "crashes/issues", ListIssues(life: life))
        router.on(.get, "crashes/issues/export", ExportIssues(life: life))
        router.on(.post, "crashes/issues/update", ChangeIssues(life: life))
        router.on(.get, "crashes/issues/:issue", ReadIssue(life: life))
        router.on(.patch, "crashes/issues/:issue", ChangeIssue(life: life))
        router.on(.delete, "crashes/issues/:issue", DeleteIssue(life: life))
        router.on(.get, "crashes/issues/:issue/history", ListIssueHistory(life: life))
        router.on(.get, "crashes/issues/:issue/counts", ReadCounts(life: life, isOfIssue: true))
        router.on(.get, "crashes/issues/:issue/tags", ListTags(life: life))
        router.on(.get, "crashes/issues/:issue/tags/:tag", ListTagValues(life: life))
        router.on(.get, "crashes/issues/:issue/releases", ListIssueReleases(life: life))
        router.on(.get, "crashes/issues/:issue/active", ReadActive(life: life))
        router.on(.get, "crashes/issues/:issue/reports", ListReports(life: life))
        router.on(.get, "crashes/issues/:issue/reports/:report", ReadReport(life: life))
        router.on(
            .get, "crashes/issues/:issue/reports/:report/attachments/:attachment", ReadReportAttachment(life: life))
        router.on(.get, "crashes/issues/:issue/hashes", ListIssueHashes(life: life))
        router.on(.post, "crashes/issues/:issue/merge", MergeIssues(life: life))
        router.on(.post, "crashes/issues/:issue/part", PartIssue(life: life))

        router.on(.get, "crashes/counts", ReadCounts(life: life, isOfIssue: false))
        router.on(.get, "crashes/releases", ListReleases(life: life))
        router.on(.get, "crashes/settings", ReadCrashSettings(life: life))
        router.on(.put, "crashes/settings", SetCrashSettings(life: life))

        router.on(.get, "crashes/alerts", ListAlerts(life: life))
        router.on(.post, "crashes/alerts", CreateAlert(life: life))
        router.on(.get, "crashes/alerts/:alert", ReadAlert(life: life))
        router.on(.put, "crashes/alerts/:alert", ReplaceAlert(life: life))
        router.on(.delete, "crashes/alerts/:alert", DeleteAlert(life: life))
        router.on(.post, "crashes/alerts/:alert/secret", RotateAlertSecret(life: life))
        router.on(.post, "crashes/alerts/:alert/test", TestAlert(life: life))
        router.on(.get, "crashes/alerts/:alert/deliveries", ListAlertDeliveries(life: life))
        router.on(.post, "crashes/alerts/:alert/deliveries/:delivery/retry", RetryAlertDelivery(life: life))
    }
}
