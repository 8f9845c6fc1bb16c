import MartletHTTP

extension ConfigService {
    /// The routes that only experiments have, in addition to those of all documents. Other kinds are 404.
    func addExperimentRoutes(to routes: inout RouteTable) {
        let reader = ResultsReader(
            documents: documents, live: live, exposures: experiments.exposures,
            observations: ObservationStore(postgres: postgres),
            conversions: conversions, kinds: kinds, logger: logger, now: now)
        routes.section = .config
        routes.on(StartExperiment.route, StartExperiment(publisher: publisher, kinds: kinds))
        routes.on(StopExperiment.route, StopExperiment(publisher: publisher, kinds: kinds))
        routes.on(DecideExperiment.route, DecideExperiment(publisher: publisher, kinds: kinds))
        routes.on(ReadResults.route, ReadResults(reader: reader))
        routes.on(ComputeResults.route, ComputeResults(reader: reader))
        routes.on(SetObservations.route, SetObservations(reader: reader))
    }
}
