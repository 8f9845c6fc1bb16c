import Hummingbird
import MartletHTTP

extension ConfigService {
    /// What experiments have beside the calls that all documents have. Other kinds of documents have none of it: 404.
    func addExperimentRoutes(to router: Router<ServiceContext>) {
        let reader = ResultsReader(
            documents: documents, live: live, exposures: experiments.exposures,
            observations: ObservationStore(postgres: postgres),
            conversions: conversions, kinds: kinds, logger: logger)
        router.on(.post, "config/:kind/:name/start", StartExperiment(publisher: publisher, kinds: kinds))
        router.on(.post, "config/:kind/:name/stop", StopExperiment(publisher: publisher, kinds: kinds))
        router.on(.post, "config/:kind/:name/decide", DecideExperiment(publisher: publisher, kinds: kinds))
        router.on(.get, "config/:kind/:name/results", ReadResults(reader: reader))
        router.on(.post, "config/:kind/:name/results", ComputeResults(reader: reader))
        router.on(.put, "config/:kind/:name/metrics/:metric/observations", SetObservations(reader: reader))
    }
}
