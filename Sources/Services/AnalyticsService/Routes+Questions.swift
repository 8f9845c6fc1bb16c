import Hummingbird
import MartletHTTP
import MartletPostgres

extension AnalyticsService {
    /// Queries on an app's events, for its own server and for staff who may read `analytics`.
    func addQuestionsRoutes(to router: Router<ServiceContext>) {
        let store = questions.store
        router.on(.get, "analytics/counts", CountEvents(spaces: spaces, store: store))
        router.on(.get, "analytics/screens", CountEvents(group: .screen, spaces: spaces, store: store))
        router.on(.get, "analytics/people", CountPeople(spaces: spaces, store: store))
        router.on(.get, "analytics/sessions", CountSessions(spaces: spaces, store: store))
        router.on(.get, "analytics/retention", ReadRetention(spaces: spaces, store: store))
        router.on(.post, "analytics/funnel", AskFunnel(spaces: spaces, store: store))
        router.on(.get, "analytics/live", ReadLive(spaces: spaces, store: store))
        router.on(.get, "analytics/events", ListEvents(spaces: spaces, store: store))

        // Counts for the whole server
        router.on(.get, "admin/requests", ListRequestCounts(store: questions.requests))

        // Calls between our own processes
        router.on(.post, "internal/analytics/experiments", SumExperiment(spaces: spaces, store: store))
        router.on(.post, "internal/requests", AddRequestCounts(store: questions.requests))
    }
}
