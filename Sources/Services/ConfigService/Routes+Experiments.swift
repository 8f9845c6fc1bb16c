import MartletHTTP

extension ConfigService {
    /// What experiments have beside the calls that all documents have. Other kinds of documents have none of it: 404.
    func addExperimentRoutes(to routes: inout RouteTable) {
        let reader = ResultsReader(
            documents: documents, live: live, exposures: experiments.exposures,
            observations: ObservationStore(postgres: postgres),
            conversions: conversions, kinds: kinds, logger: logger)
        routes.section = .config
        routes.on(StartExperiment.route, StartExperiment(publisher: publisher, kinds: kinds))
        routes.on(StopExperiment.route, StopExperiment(publisher: publisher, kinds: kinds))
        routes.on(DecideExperiment.route, DecideExperiment(publisher: publisher, kinds: kinds))
        routes.on(ReadResults.route, ReadResults(reader: reader))
        routes.on(ComputeResults.route, ComputeResults(reader: reader))
        routes.on(SetObservations.route, SetObservations(reader: reader))
    }
}
