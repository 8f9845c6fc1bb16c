import Foundation
import Hummingbird
import Logging
import MartletAPI
import MartletCore
import MartletHTTP

/// The common steps of the endpoints for results.
struct ResultsReader: Sendable {
    let documents: DocumentStore
    let live: LiveDocuments
    let exposures: ExposureStore
    let observations: ObservationStore
    let conversions: Conversions
    let kinds: Kinds
    let logger: Logger
    let now: @Sendable () -> Date

    /// The experiment in the path: its published version, or its draft if it was never published. `id` is its id in
    /// exposures.
    ///
    /// - Throws: `document-not-found`, `document-refused` for a draft with errors.
    func experiment(_ context: ServiceContext, may action: StaffAction) async throws -> (
        name: String, id: String, ExperimentDocument
    ) {
        let key = try context.documentKey(kinds)
        guard key.kind == .experiment else { throw ServiceError(.notFound) }
        _ = try context.author(may: action, .experiments)
        let space = try context.space
        if let published = try await live.current(space)[key], let compiled = published.compiled as? CompiledExperiment
        {
            return (key.name, ExperimentDocument.id(of: key.name, from: published.firstVersion), compiled.document)
        }
        guard let document = try await documents.read(key, in: space), let draft = document.draft else {
            throw ServiceError(.documentNotFound)
        }
        let (experiment, findings) = ExperimentKind.read(try JSONValue(parsing: draft.utf8))
        guard !findings.contains(where: { $0.severity == .error }) else {
            throw ServiceError(.documentRefused, "The draft has errors; see findings.", findings: findings.limited)
        }
        return (key.name, ExperimentDocument.id(of: key.name, from: document.firstVersion), experiment)
    }

    /// The observations of one metric up to a day.
    struct Day: Sendable {
        let metric: String
        let day: String
        let asOf: Date
        let observations: [String: Observation]
    }

    func days(of measured: MeasuredExperiment, in space: AppSpace) async throws -> [Day] {
        let experiment = measured.experiment
        return try await observations.list(measured.id, bucketVersion: experiment.bucketVersion, in: space).compactMap {
            row in
            // Observations from before the variations or metrics changed are left out.
            guard let metric = experiment.metrics.first(where: { $0.name == row.metric }),
                metric.hasSums(from: row.source),
                let content = try? JSONValue(parsing: row.content.utf8),
                let observations = try? metric.observations(content, of: experiment.variations, field: "")
            else { return nil }
            return Day(metric: row.metric, day: row.day, asOf: row.asOf, observations: observations)
        }
    }

    /// Asks analytics for the metrics whose values are missing or out of date, as many as the time allows, and stores
    /// the answers under today's date. Values stored more than a day after the end of an experiment are final, because
    /// events are not kept forever.
    func measure(_ measured: MeasuredExperiment, named name: String, in space: AppSpace) async throws
        -> Measurement
    {
        let now = now()
        guard var question = measured.question(named: name, in: space, at: now) else { return Measurement() }
        let metrics = question.metrics
        question.metrics = []
        let before = try await latestSums(of: measured, in: space)
        let outdated = metrics.filter { metric in
            guard let asOf = before[metric.name]?.asOf else { return true }
            return !measured.isComplete(at: asOf) && now.timeIntervalSince(asOf) >= conversions.limits.validity
        }
        var problems: [String: Conversions.Problem] = [:]
        if !outdated.isEmpty {
            problems = try await conversions.sums(
                of: outdated.map { .init(metric: $0, asOf: before[$0.name]?.asOf) }, question,
                of: .init(space: space, experiment: measured.id, bucketVersion: measured.experiment.bucketVersion)
            ) { try await store($1, of: $0, measured, in: space, asOf: now) }
        }

        let after = try await latestSums(of: measured, in: space)
        let outdatedNames = Set(outdated.map(\.name))
        return Measurement(
            metrics: metrics.map { metric in
                let problem = problems[metric.name], asOf = after[metric.name]?.asOf
                let isCurrent =
                    !outdatedNames.contains(metric.name)
                    || (asOf.map { now.timeIntervalSince($0) < conversions.limits.validity } ?? false)
                return .init(
                    name: metric.name, state: problem != nil ? .failed : isCurrent ? .current : .pending, asOf: asOf,
                    problem: problem)
            }, seen: after.values.max { $0.asOf < $1.asOf }?.seen)
    }

    /// When the stored sums of the metrics that name an event were last updated, and the units that analytics saw.
    private func latestSums(
        of measured: MeasuredExperiment, in space: AppSpace
    ) async throws -> [String: (asOf: Date, seen: MeasuredExperiment.Seen?)] {
        let experiment = measured.experiment
        let rows = try await observations.latest(measured.id, bucketVersion: experiment.bucketVersion, in: space).filter
        { row in
            experiment.metrics.contains { $0.name == row.metric && $0.hasSums(from: row.source) }
        }
        let pairs = rows.compactMap { row -> (String, (asOf: Date, seen: MeasuredExperiment.Seen?))? in
            guard case .analytics(_, let seen) = row.source else { return nil }
            return (row.metric, (row.asOf, seen.flatMap { .init($0) }))
        }
        return Dictionary(pairs) { $1 }
    }

    /// Stores analytics' answer for a metric if it is plausible.
    private func store(
        _ sums: ExperimentSums, of question: ExperimentQuestion.Metric, _ measured: MeasuredExperiment,
        in space: AppSpace, asOf date: Date
    ) async throws -> Conversions.Problem? {
        let experiment = measured.experiment
        guard let metric = experiment.metrics.first(where: { $0.name == question.name }) else { return .unusable }
        let content = measured.content(of: sums.metrics[metric.name] ?? [:])
        do {
            _ = try metric.observations(content, of: experiment.variations, field: metric.name)
        } catch {
            logger.warning(
                "Analytics returned sums that no values can have; the metric keeps its previous results.",
                metadata: ["experiment.metric": "\(metric.name)", "error.cause": "\(error)"])
            return .unusable
        }
        let units = sums.units.filter { unit in experiment.variations.contains { $0.key == unit.key } }
        let seen = MeasuredExperiment.Seen(units: units, multipleExposures: sums.multipleExposures)
        try await observations.set(
            content.text, of: metric.name, experiment: measured.id, bucketVersion: experiment.bucketVersion, in: space,
            asOf: date,
            from: .analytics(question: question.text, seen: seen.text))
        return nil
    }

    func head(_ name: String, _ experiment: ExperimentDocument) -> [JSONValue.Member] {
        [
            .init("experiment", .string(name)), .init("state", .string(experiment.state.rawValue)),
            .init("bucketVersion", .count(experiment.bucketVersion)),
            .init("alpha", .real(experiment.guardRails.alpha)),
        ]
    }
}
