import Foundation
import MartletAPI
import MartletCore

/// Who was given what of an experiment (config's exposures) beside what they did (analytics' events).
///
/// A unit of analytics is a person with an event that says its variation; what it did before does not count. Who was
/// given a variation and sent no such event did nothing that is counted: it is a unit with 0. So units are as many as
/// were given the variation, or were seen with it, if those are more.
struct MeasuredExperiment: Sendable {
    /// What analytics saw; nil where it was not asked, or did not answer.
    struct Seen: Sendable {
        var units: [String: Int]
        var multipleExposures: Int
    }

    /// Until when events of an experiment that is over may still come.
    static let patience: TimeInterval = 86_400
    private static let maximumDays = 800.0

    let experiment: ExperimentDocument
    /// What exposures call it.
    let id: String
    let exposures: ExposureStore.Count

    /// What analytics is to be asked; nil: nothing, as no metric names an event, or nobody was given anything yet.
    func question(named name: String, in space: ConfigSpace, at now: Date) -> ExperimentQuestion? {
        let metrics = experiment.metrics.compactMap(\.question)
        guard !metrics.isEmpty, let since = exposures.since else { return nil }
        let end = min(experiment.over ?? now, now)
        let from = max(since.timeIntervalSince1970, end.timeIntervalSince1970 - Self.maximumDays * 86_400 + 86_400)
        // The second that is not over counts: its events may have been answered.
        let question = ExperimentQuestion(
            appID: space.appID, environment: space.environment, experiment: name,
            variations: experiment.variations.map(\.key),
            from: Int(from.rounded(.down)), to: Int(end.timeIntervalSince1970.rounded(.down)) + 1, metrics: metrics)
        return question.to > question.from ? question : nil
    }

    /// Whether what was kept at `date` is all that there will be.
    func isComplete(at date: Date) -> Bool { experiment.over.map { date > $0 + Self.patience } ?? false }

    /// Sums of a metric by variation, as `PUT …/metrics/{metric}/observations` takes them.
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
    /// When it ended or will end; nil: nobody knows.
    var over: Date? {
        let ends = [end, state == .running || state == .draft ? nil : stoppedAt, state == .decided ? decidedAt : nil]
        return ends.compactMap(\.self).min()
    }
}

extension ExperimentDocument.Metric {
    /// Whether sums are of this metric: those that were sent of one that names no event, and those that analytics
    /// answered to the same question.
    func hasSums(from source: ObservationStore.Source) -> Bool {
        switch source {
        case .author: event == nil
        case .analytics(let asked, _): question.map { asked == nil || asked == $0.text } ?? false
        }
    }

    /// As analytics is asked for it; nil: its sums are sent.
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
