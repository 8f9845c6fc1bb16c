import MartletHTTP

extension ConfigService {
    /// The evaluation of flags, and their import from Firebase.
    func addFlagsRoutes(to routes: inout RouteTable) {
        routes.section = .flags
        routes.on(EvaluateFlags.route, EvaluateFlags(live: live, experiments: experiments, users: users))
        routes.on(EvaluateFlag.route, EvaluateFlag(live: live, experiments: experiments, users: users))
        routes.on(FollowFlags.route, FollowFlags(streams: streams))
        routes.on(EvaluateForApp.route, EvaluateForApp(live: live, experiments: experiments, users: users))
        routes.on(ReadFlagRules.route, ReadFlagRules(live: live, now: experiments.now))
        routes.on(ImportFirebase.route, ImportFirebase(documents: documents, live: live, kinds: kinds))
    }
}
