import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletStatistics

/// Metrics that name an event are measured by analytics, the others have the values that were sent last. A metric that
/// analytics cannot measure now keeps its previous values; `conversions` says so.
struct ReadResults: Endpoint {
    static let route = Route(
        .get, "/config/{kind}/{name}/results", "readResults",
        """
        Returns the results of an experiment. Units are counted from exposures; metrics that name an event are \
        measured by analytics.
        """, callers: .documentManagers(.read),
        parameters: [
            .experimentKind,
            .experimentName,
        ],
        answers: [
            .answer(
                200, "Guard rails, a hint, the effects by metric and variation, and a daily series.",
                .json(.experimentResults))
        ],
        errors: [
            404: "There is no such experiment (`document-not-found`).",
            422: "The experiment was never published and its draft has errors (`document-refused`).",
        ])

    let reader: ResultsReader

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (name, id, experiment) = try await reader.experiment(context, may: .read)
        let space = try context.space
        let count = try await reader.exposures.count(id, bucketVersion: experiment.bucketVersion, in: space)
        let measured = MeasuredExperiment(experiment: experiment, id: id, exposures: count)
        let conversions = try await reader.measure(measured, named: name, in: space)
        let days = try await reader.days(of: measured, in: space)
        let report = ExperimentReport(
            experiment, units: count.units, multipleExposures: count.multiple, seen: conversions.seen,
            days.map { (metric: $0.metric, $0.observations) })
        let series = experiment.metrics.map { metric in
            JSONValue.Member(
                metric.name,
                .array(
                    days.filter { $0.metric == metric.name }.map {
                        Self.day($0.day, MetricReport(metric, $0.observations, in: experiment))
                    }))
        }
        let asOf = days.map(\.asOf).max().map { JSONValue.string($0.formatted(.iso8601)) } ?? .null
        let head = reader.head(name, experiment) + [.init("asOf", asOf), .init("conversions", conversions.json)]
        return .json(JSONValue.object(head + report.members + [.init("series", .object(series))]).text)
    }

    /// One point of a series: the effect up to that day.
    private static func day(_ day: String, _ report: MetricReport) -> JSONValue {
        .object([
            .init("day", .string(day)),
            .init(
                "variations",
                .object(
                    report.comparisons.map { comparison in
                        let main = comparison.main
                        return .init(
                            comparison.variation,
                            .object([
                                .init("units", .count(comparison.treatment.value.count)),
                                .init("effect", .real(main?.effect.value)),
                                .init("sequential", main?.sequential.json ?? .null),
                            ]))
                    })),
        ])
    }
}

struct ComputeResults: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/results", "computeResults",
        "Computes the results of an experiment from the data in the body, without storing anything.",
        callers: .documentManagers(.read),
        parameters: [
            .experimentKind,
            .experimentName,
        ],
        body: .json(
            .object(
                [
                    "metrics": .object.described("For each metric, the sums of each variation."),
                    "units": .object.described(
                        "The number of units of each variation; by default those of the first metric."),
                    "multipleExposures": .integer.minimum(0),
                ], required: ["metrics"])),
        answers: [
            .answer(200, "The results, without `asOf`, `conversions` and `series`.", .json(.experimentResults))
        ],
        errors: [
            404: "There is no such experiment (`document-not-found`).",
            413: "The body has more than 1 MiB (`payload-too-large`).",
            422: "The experiment was never published and its draft has errors (`document-refused`).",
        ])

    let reader: ResultsReader

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (name, _, experiment) = try await reader.experiment(context, may: .read)
        let fields = try await BodyFields(request, ["metrics", "units", "multipleExposures"], upTo: 1 << 20)
        guard case .object(let members)? = fields["metrics"], !members.isEmpty else {
            throw ServiceError(
                .invalidBody, "Expected an object with at least one metric, each an object from variation to sums.",
                field: "metrics")
        }
        let metrics = try members.map { member in
            guard let metric = experiment.metrics.first(where: { $0.name == member.name }) else {
                throw ServiceError(.invalidBody, "The experiment has no such metric.", field: "metrics." + member.name)
            }
            return (
                metric: member.name,
                try metric.observations(member.value, of: experiment.variations, field: "metrics." + member.name)
            )
        }
        let units = try Self.units(fields, experiment) ?? metrics.first.map { $0.1.mapValues(\.value.count) } ?? [:]
        let multiple = try fields.integer("multipleExposures", in: 0...1_000_000_000_000) ?? 0
        let report = ExperimentReport(experiment, units: units, multipleExposures: multiple, metrics)
        return .json(JSONValue.object(reader.head(name, experiment) + report.members).text)
    }

    private static func units(_ fields: BodyFields, _ experiment: ExperimentDocument) throws -> [String: Int]? {
        guard let value = fields["units"], value != .null else { return nil }
        let units = try BodyFields(value, Set(experiment.variations.map(\.key)))
        return Dictionary(
            try experiment.variations.map { ($0.key, try units.integer($0.key, in: 0...1_000_000_000_000) ?? 0) },
            uniquingKeysWith: { first, _ in first })
    }
}

struct SetObservations: Endpoint {
    static let route = Route(
        .put, "/config/{kind}/{name}/metrics/{metric}/observations", "setObservations",
        "Stores the observations of a metric up to a time, replacing those of the same day (UTC).",
        callers: .documentManagers(.update),
        parameters: [
            .experimentKind,
            .experimentName,
        ],
        body: .json(
            .object(
                [
                    "variations": .object.described(
                        "The sums of every variation, from the beginning of the experiment."),
                    "asOf": .time.described(
                        "The time up to which the sums were counted, within the last 400 days; by default now."),
                ], required: ["variations"])),
        answers: [
            .answer(204, "The observations are stored.")
        ],
        errors: [
            404: "There is no such experiment or metric (`document-not-found`, `not-found`).",
            409: "The metric names an event, so analytics supplies its sums (`conflict`).",
            413: "The body has more than 64 KiB (`payload-too-large`).",
            422: "The experiment was never published and its draft has errors (`document-refused`).",
        ])

    let reader: ResultsReader

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (_, id, experiment) = try await reader.experiment(context, may: .update)
        let author = try context.author(may: .update, .experiments)
        guard let metric = experiment.metrics.first(where: { $0.name == context.parameters.get("metric") }) else {
            throw ServiceError(.notFound, "The experiment has no such metric.")
        }
        guard metric.event == nil else {
            throw ServiceError(.conflict, "The metric names an event, so analytics supplies its sums.")
        }
        let fields = try await BodyFields(request, ["variations", "asOf"])
        _ = try metric.observations(fields["variations"], of: experiment.variations, field: "variations")
        let now = reader.now()
        let date = try fields.time("asOf") ?? now
        guard date <= now.addingTimeInterval(60), date > now.addingTimeInterval(-400 * 86_400) else {
            throw ServiceError(.invalidBody, "Expected a time within the last 400 days.", field: "asOf")
        }
        try await reader.observations.set(
            fields["variations"]?.text ?? "{}", of: metric.name, experiment: id,
            bucketVersion: experiment.bucketVersion, in: try context.space,
            asOf: date, from: .author(author))
        return Response(status: .noContent)
    }
}
