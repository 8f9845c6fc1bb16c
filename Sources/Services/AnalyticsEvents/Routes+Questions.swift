package import MartletHTTP
import MartletPostgres

extension Questions {
    /// Queries on an app's events, for its own server and for staff who may read `analytics`.
    package func addRoutes(to routes: inout RouteTable) {
        routes.section = .questions
        routes.on(CountEvents.route, CountEvents(spaces: spaces, store: store))
        routes.on(CountEvents.countScreens, CountEvents(group: .screen, spaces: spaces, store: store))
        routes.on(CountPeople.route, CountPeople(spaces: spaces, store: store))
        routes.on(CountSessions.route, CountSessions(spaces: spaces, store: store))
        routes.on(ReadRetention.route, ReadRetention(spaces: spaces, store: store))
        routes.on(AskFunnel.route, AskFunnel(spaces: spaces, store: store))
        routes.on(ReadLive.route, ReadLive(spaces: spaces, store: store))
        routes.on(ListEvents.route, ListEvents(spaces: spaces, store: store, now: now))
        let saved = SavedQuestionStore(postgres: postgres)
        routes.on(ListSavedQuestions.route, ListSavedQuestions(spaces: spaces, questions: saved))
        routes.on(ReadSavedQuestion.route, ReadSavedQuestion(spaces: spaces, questions: saved))
        routes.on(SaveQuestion.route, SaveQuestion(spaces: spaces, questions: saved))
        routes.on(DeleteSavedQuestion.route, DeleteSavedQuestion(spaces: spaces, questions: saved))

        routes.section = .staff
        // Counts for the whole server
        routes.on(ListRequestCounts.route, ListRequestCounts(store: requests, now: now))

        // Calls between our own processes
        routes.on(SumExperiment.route, SumExperiment(spaces: spaces, store: store))
        routes.on(AddRequestCounts.route, AddRequestCounts(store: requests, now: now))
    }
}
