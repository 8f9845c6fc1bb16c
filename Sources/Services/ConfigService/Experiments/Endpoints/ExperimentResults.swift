import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletStatistics

/// `GET /config/experiment/{name}/results`: what the data say. Units are counted from exposures; analytics is asked for
/// metrics that name an event, and others are as they were sent last. What it does not say now is as it said last;
/// `conversions` tells.
struct ReadResults: Endpoint {
    static let route = Route(
        .get, "/config/{kind}/{name}/results", "readResults",
        """
        What the data say of an experiment; units are counted from exposures, and analytics is asked for \
        metrics that name an event.
        """, callers: .documentManagers(.read),
        parameters: [
            .path("kind", .oneOf("experiment"), "`experiment`: other kinds have no such call."),
            .path("name", .string, "1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first."),
        ],
        answers: [
            .answer(
                200, "Guard rails, a hint, effects by metric and variation, and a series by day.",
                .json(.experimentResults))
        ],
        errors: [
            404: "There is no such experiment (`document-not-found`).",
            422: "The draft has errors (`document-refused`).",
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

    /// One point of a series: the effect by that day, relative where it can be.
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

/// `POST /config/experiment/{name}/results` with `metrics`, metric → variation → sums, and perhaps `units`, variation →
/// number: what these data say. Nothing is stored.
struct ComputeResults: Endpoint {
    static let route = Route(
        .post, "/config/{kind}/{name}/results", "computeResults",
        "What data that are sent say of an experiment. Nothing is stored.", callers: .documentManagers(.read),
        parameters: [
            .path("kind", .oneOf("experiment"), "`experiment`: other kinds have no such call."),
            .path("name", .string, "1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first."),
        ],
        body: .json(
            .object(
                [
                    "metrics": .object.described("Metric → variation → sums."),
                    "units": .object.described("Variation → number of units; without, those of the first metric."),
                    "multipleExposures": .integer.minimum(0),
                ], required: ["metrics"])),
        answers: [
            .answer(200, "As with GET, without the series.", .json(.experimentResults))
        ],
        errors: [
            404: "There is no such experiment (`document-not-found`).", 413: "More than 1 MiB (`payload-too-large`).",
            422: "The draft has errors (`document-refused`).",
        ])

    let reader: ResultsReader

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (name, _, experiment) = try await reader.experiment(context, may: .read)
        let fields = try await BodyFields(request, ["metrics", "units", "multipleExposures"], upTo: 1 << 20)
        guard case .object(let members)? = fields["metrics"], !members.isEmpty else {
            throw HTTPProblem(.invalidBody, "This must be an object of sums by metric and variation.", field: "metrics")
        }
        let metrics = try members.map { member in
            guard let metric = experiment.metrics.first(where: { $0.name == member.name }) else {
                throw HTTPProblem(.invalidBody, "The experiment has no such metric.", field: "metrics." + member.name)
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

/// `PUT /config/experiment/{name}/metrics/{metric}/observations` with `variations`, variation → sums from the beginning
/// on, and perhaps `asOf`: what was observed by then. One a day (UTC) is kept. 204.
struct SetObservations: Endpoint {
    static let route = Route(
        .put, "/config/{kind}/{name}/metrics/{metric}/observations", "setObservations",
        "What was observed of a metric from the beginning up to a time. One a day (UTC) is kept.",
        callers: .documentManagers(.update),
        parameters: [
            .path("kind", .oneOf("experiment"), "`experiment`: other kinds have no such call."),
            .path("name", .string, "1 to 64 of `A-Z a-z 0-9 . _ -`, a letter or digit first."),
        ],
        body: .json(
            .object(
                [
                    "variations": .object.described("Variation → sums, of every variation."),
                    "asOf": .time.described("Within the last 400 days; without: now."),
                ], required: ["variations"])),
        answers: [
            .answer(204, "Stored.")
        ],
        errors: [
            404: "There is no such experiment or metric (`document-not-found`, `not-found`).",
            409: "The metric names an event: its sums come from analytics (`conflict`).",
            413: "More than 64 KiB (`payload-too-large`).", 422: "The draft has errors (`document-refused`).",
        ])

    let reader: ResultsReader

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (_, id, experiment) = try await reader.experiment(context, may: .update)
        let author = try context.author(may: .update, .experiments)
        guard let metric = experiment.metrics.first(where: { $0.name == context.parameters.get("metric") }) else {
            throw HTTPProblem(.notFound, "The experiment has no such metric.")
        }
        guard metric.event == nil else {
            throw HTTPProblem(.conflict, "The metric names an event: its sums come from analytics.")
        }
        let fields = try await BodyFields(request, ["variations", "asOf"])
        _ = try metric.observations(fields["variations"], of: experiment.variations, field: "variations")
        let now = Date()
        let date = try fields.time("asOf") ?? now
        guard date <= now.addingTimeInterval(60), date > now.addingTimeInterval(-400 * 86_400) else {
            throw HTTPProblem(.invalidBody, "This must be a time within the last 400 days.", field: "asOf")
        }
        try await reader.observations.set(
            fields["variations"]?.text ?? "{}", of: metric.name, experiment: id,
            bucketVersion: experiment.bucketVersion, in: try context.space,
            asOf: date, from: .author(author))
        return Response(status: .noContent)
    }
}
