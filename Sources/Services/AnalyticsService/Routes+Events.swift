import HTTPTypes
import Hummingbird
import MartletCore
import MartletHTTP

extension AnalyticsService {
    func addEventsRoutes(to router: Router<ServiceContext>) {
        let intake = EventIntake(events: events)
        // Segment's API, called with an ingest key.
        router.on(.post, "segment/v1/batch", TakeBatch(intake: intake, kinds: [.ingest]))
        router.on(.post, "segment/v1/b", TakeBatch(intake: intake, kinds: [.ingest]))
        router.on(.post, "segment/v1/identify", TakeMessage(kind: .identify, intake: intake))
        router.on(.post, "segment/v1/track", TakeMessage(kind: .track, intake: intake))
        router.on(.post, "segment/v1/screen", TakeMessage(kind: .screen, intake: intake))
        router.on(.post, "segment/v1/page", TakeMessage(kind: .page, intake: intake))
        router.on(.post, "segment/v1/group", TakeMessage(kind: .group, intake: intake))
        router.on(.post, "segment/v1/alias", TakeMessage(kind: .alias, intake: intake))
        // The short paths that analytics.js uses in browsers.
        router.on(.post, "segment/v1/i", TakeMessage(kind: .identify, intake: intake))
        router.on(.post, "segment/v1/t", TakeMessage(kind: .track, intake: intake))
        router.on(.post, "segment/v1/s", TakeMessage(kind: .screen, intake: intake))
        router.on(.post, "segment/v1/p", TakeMessage(kind: .page, intake: intake))
        router.on(.post, "segment/v1/g", TakeMessage(kind: .group, intake: intake))
        router.on(.post, "segment/v1/a", TakeMessage(kind: .alias, intake: intake))
        router.on(.get, "segment/v1/settings/:key", ReadProjectSettings(events: events))
        // For the app itself.
        router.on(.post, "events", TakeBatch(intake: intake, kinds: [.client, .master]))
        router.on(.get, "events/opt-out", OptOutEndpoint(act: .read, events: events))
        router.on(.put, "events/opt-out", OptOutEndpoint(act: .optOut, events: events))
        router.on(.delete, "events/opt-out", OptOutEndpoint(act: .optIn, events: events))
        router.on(.post, "thesis/events", TakeTBAnalyticsEvent(intake: intake))
        router.on(.get, "thesis/events", ReadTBAnalyticsEvents(events: events))
        // For staff and the app's own server.
        router.on(.get, "analytics/settings", ReadSettings(events: events))
        router.on(.put, "analytics/settings", ChangeSettings(events: events))
    }
}
