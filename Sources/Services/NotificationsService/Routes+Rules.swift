import MartletHTTP

extension NotificationsService {
    func addRulesRoutes(to routes: inout RouteTable) {
        routes.section = .notifications
        routes.on(ListRules.route, ListRules(rules: rules))
        routes.on(ReadRule.route, ReadRule(rules: rules))
        routes.on(SetRule.route, SetRule(rules: rules))
        routes.on(DeleteRule.route, DeleteRule(rules: rules))
        routes.on(RotateRuleSecret.route, RotateRuleSecret(rules: rules))
        routes.on(TestRule.route, TestRule(rules: rules))
        routes.on(ListRuleRuns.route, ListRuleRuns(rules: rules))
        routes.on(ReceiveAlert.route, ReceiveAlert(rules: rules))
    }
}
