import Hummingbird
import MartletHTTP

extension ConfigService {
    /// Flags and parameters, evaluated.
    func addFlagsRoutes(to router: Router<ServiceContext>) {
        router.on(.post, "ofrep/v1/evaluate/flags", EvaluateFlags(live: live, experiments: experiments, users: users))
        router.on(
            .post, "ofrep/v1/evaluate/flags/:key", EvaluateFlag(live: live, experiments: experiments, users: users))
        router.on(.get, "ofrep/v1/events", FollowFlags(streams: streams))
        router.on(.post, "flags/evaluate", EvaluateForApp(live: live, experiments: experiments, users: users))
        router.on(
            .post, "config/:kind/:name/import-firebase", ImportFirebase(documents: documents, live: live, kinds: kinds))
    }
}
