import Hummingbird
import MartletHTTP

extension NotificationsService {
    func addRulesRoutes(to router: Router<ServiceContext>) {
        router.on(.get, "notifications/rules", ListRules(rules: rules))
        router.on(.get, "notifications/rules/:name", ReadRule(rules: rules))
        router.on(.put, "notifications/rules/:name", SetRule(rules: rules))
        router.on(.delete, "notifications/rules/:name", DeleteRule(rules: rules))
        router.on(.post, "notifications/rules/:name/secret", RotateRuleSecret(rules: rules))
        router.on(.post, "notifications/rules/:name/test", TestRule(rules: rules))
        router.on(.get, "notifications/rules/:name/runs", ListRuleRuns(rules: rules))
        router.on(.post, "internal/notifications/alerts", TakeAlert(rules: rules))
    }
}
