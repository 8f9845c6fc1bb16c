import Foundation
import Hummingbird
import Logging
import MartletAPI
import MartletCore
import MartletHTTP

/// What the calls about results have in common.
struct ResultsReader: Sendable {
    let documents: DocumentStore
    let live: LiveDocuments
    let exposures: ExposureStore
    let observations: ObservationStore
    let conversions: Conversions
    let kinds: Kinds
    let logger: Logger

    /// The experiment in the path as it is published, or its draft while it never was; `id` is what exposures call it.
    ///
    /// - Throws: `document-not-found`, `document-refused` for a draft with errors.
    func experiment(_ context: ServiceContext, may action: StaffAction) async throws -> (name: String, id: String, ExperimentDocument) {
        let key = try context.documentKey(kinds)
        guard key.kind == .experiment else { throw HTTPProblem(.notFound) }
        _ = try context.author(may: action, .experiments)
        let space = try context.space
        if let published = try await live.current(space)[key], let compiled = published.compiled as? CompiledExperiment {
            return (key.name, ExperimentDocument.id(of: key.name, from: published.firstVersion), compiled.document)
        }
        guard let document = try await documents.read(key, in: space), let draft = document.draft else { throw HTTPProblem(.documentNotFound) }
        let (experiment, findings) = ExperimentKind.read(try JSONValue(parsing: draft.utf8))
        guard !findings.contains(where: { $0.severity == .error }) else {
            throw HTTPProblem(.documentRefused, "The draft has errors: see findings.", findings: findings.limited)
        }
        return (key.name, ExperimentDocument.id(of: key.name, from: document.firstVersion), experiment)
    }

    /// What was observed by a day.
    struct Day: Sendable {
        let metric: String
        let day: String
        let asOf: Date
        let observations: [String: Observation]
    }

    func days(of measured: MeasuredExperiment, in space: ConfigSpace) async throws -> [Day] {
        let experiment = measured.experiment
        return try await observations.list(measured.id, bucketVersion: experiment.bucketVersion, in: space).compactMap { row in
            // What was observed when the experiment had other variations or metrics is left out.
            guard let metric = experiment.metrics.first(where: { $0.name == row.metric }), let content = try? JSONValue(parsing: row.content.utf8),
                let observations = try? metric.observations(content, of: experiment.variations, field: "")
            else { return nil }
            return Day(metric: row.metric, day: row.day, asOf: row.asOf, observations: observations)
        }
    }

    /// What came of asking analytics.
    struct Measurement: Sendable {
        var isAsked = false
        var seen: MeasuredExperiment.Seen?
        var problem: Conversions.Problem?

        /// Null where no metric names an event, or nobody was given anything yet.
        var json: JSONValue {
            guard isAsked else { return .null }
            return .object([
                .init("source", .string("analytics")), .init("problem", problem.map { .string($0.rawValue) } ?? .null),
                .init("seen", seen.map { .object($0.units.sorted { $0.key < $1.key }.map { .init($0.key, .count($0.value)) }) } ?? .null),
                .init("multipleExposures", .count(seen?.multipleExposures)),
            ])
        }
    }

    /// Asks analytics for what the experiment's metrics name, and keeps the answer as today's. Of an experiment that is over what was kept a day
    /// later stays: events do not.
    func measure(_ measured: MeasuredExperiment, named name: String, in space: ConfigSpace, at now: Date = Date()) async throws -> Measurement {
        guard let question = measured.question(named: name, in: space, at: now) else { return Measurement() }
        let kept = try await days(of: measured, in: space)
        let isKept = question.metrics.allSatisfy { metric in kept.contains { $0.metric == metric.name && measured.isComplete(at: $0.asOf) } }
        guard !isKept else { return Measurement(isAsked: true) }
        do throws(Conversions.Problem) {
            let sums = try await conversions.sums(of: question)
            try await keep(sums, of: measured, in: space, asOf: now)
            let units = sums.units.filter { unit in measured.experiment.variations.contains { $0.key == unit.key } }
            return Measurement(isAsked: true, seen: .init(units: units, multipleExposures: sums.multipleExposures))
        } catch {
            return Measurement(isAsked: true, problem: error)
        }
    }

    private func keep(_ sums: ExperimentSums, of measured: MeasuredExperiment, in space: ConfigSpace, asOf date: Date) async throws(Conversions.Problem) {
        for metric in measured.experiment.metrics where metric.event != nil {
            let content = measured.content(of: sums.metrics[metric.name] ?? [:])
            do {
                _ = try metric.observations(content, of: measured.experiment.variations, field: metric.name)
                try await observations.set(
                    content.text, of: metric.name, experiment: measured.id, bucketVersion: measured.experiment.bucketVersion, in: space, asOf: date,
                    by: Author(text: "analytics"))
            } catch {
                logger.warning("what analytics says of an experiment is not kept", metadata: ["experiment.metric": "\(metric.name)", "error.cause": "\(error)"])
                throw .unavailable
            }
        }
    }

    func head(_ name: String, _ experiment: ExperimentDocument) -> [JSONValue.Member] {
        [
            .init("experiment", .string(name)), .init("state", .string(experiment.state.rawValue)),
            .init("bucketVersion", .count(experiment.bucketVersion)), .init("alpha", .real(experiment.guardRails.alpha)),
        ]
    }
}
