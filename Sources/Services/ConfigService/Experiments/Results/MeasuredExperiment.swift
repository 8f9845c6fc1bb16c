import Foundation
import MartletAPI
import MartletCore

/// An experiment with its exposures and the events that analytics counted for it.
///
/// A unit in analytics is a person with an event that reports its variation; earlier events do not count. A unit that
/// was given a variation but has no such event counts as 0. So the number of units is the number of exposed units, or
/// the number seen by analytics if that is larger.
struct MeasuredExperiment: Sendable {
    /// The units that analytics saw; nil if it was not asked or did not answer.
    struct Seen: Sendable {
        var units: [String: Int]
        var multipleExposures: Int
    }

    /// How long after the end of an experiment its events may still arrive, in seconds.
    static let latenessLimit: TimeInterval = 86_400
    private static let maximumDays = 800.0

    let experiment: ExperimentDocument
    /// The experiment's id in exposures.
    let id: String
    let exposures: ExposureStore.Count

    /// The question for analytics; nil if no metric names an event or no unit was exposed yet.
    func question(named name: String, in space: AppSpace, at now: Date) -> ExperimentQuestion? {
        let metrics = experiment.metrics.compactMap(\.question)
        guard !metrics.isEmpty, let since = exposures.since else { return nil }
        let end = min(experiment.endTime ?? now, now)
        let from = max(since.timeIntervalSince1970, end.timeIntervalSince1970 - Self.maximumDays * 86_400 + 86_400)
        // The current second is included, because its events may already count.
        let question = ExperimentQuestion(
            appID: space.appID, environment: space.environment, experiment: name,
            variations: experiment.variations.map(\.key),
            from: Int(from.rounded(.down)), to: Int(end.timeIntervalSince1970.rounded(.down)) + 1, metrics: metrics)
        return question.to > question.from ? question : nil
    }

    /// Whether values stored at `date` are final.
    func isComplete(at date: Date) -> Bool { experiment.endTime.map { date > $0 + Self.latenessLimit } ?? false }

    /// The sums of a metric by variation, in the form that `PUT …/metrics/{metric}/observations` accepts.
    func content(of sums: [String: ExperimentSums.Sums]) -> JSONValue {
        .object(
            experiment.variations.map { variation in
                let sums = sums[variation.key] ?? .init(units: 0, sum: 0)
                return .init(
                    variation.key, Self.content(sums, units: max(sums.units, exposures.units[variation.key] ?? 0)))
            })
    }

    private static func content(_ sums: ExperimentSums.Sums, units: Int) -> JSONValue {
        func pair(_ pair: ExperimentSums.Pair) -> JSONValue {
            .object([.init("sum", .real(pair.sum)), .init("sumOfSquares", .real(pair.sumOfSquares))])
        }
        var members: [JSONValue.Member] = [.init("units", .count(units)), .init("sum", .real(sums.sum))]
        if let squares = sums.sumOfSquares { members.append(.init("sumOfSquares", .real(squares))) }
        if let denominator = sums.denominator { members.append(.init("denominator", pair(denominator))) }
        if let covariate = sums.covariate { members.append(.init("covariate", pair(covariate))) }
        if let products = sums.sumOfProducts { members.append(.init("sumOfProducts", .real(products))) }
        return .object(members)
    }
}

extension ExperimentDocument {
    /// When the experiment ended or will end; nil if that is not known.
    var endTime: Date? {
        let ends = [end, state == .running || state == .draft ? nil : stoppedAt, state == .decided ? decidedAt : nil]
        return ends.compactMap(\.self).min()
    }
}

extension ExperimentDocument.Metric {
    /// Whether sums from this source belong to the metric: sent sums if the metric names no event, otherwise analytics'
    /// answers to the same question.
    func hasSums(from source: ObservationStore.Source) -> Bool {
        switch source {
        case .author: event == nil
        case .analytics(let asked, _): question.map { asked == nil || asked == $0.text } ?? false
        }
    }

    /// The metric's question for analytics; nil if its sums are sent to the API.
    fileprivate var question: ExperimentQuestion.Metric? {
        guard let event else { return nil }
        let kind: ExperimentQuestion.Metric.Kind =
            switch kind {
            case .proportion: .proportion
            case .mean: .mean
            case .ratio: .ratio
            }
        return .init(
            name: name, kind: kind, event: event, property: property, denominatorEvent: denominatorEvent,
            covariateDays: hasCovariate ? covariateDays : nil)
    }
}
