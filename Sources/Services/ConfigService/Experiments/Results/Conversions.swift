import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore
import Synchronization

/// Asks analytics for the sums of an experiment's metrics that name an event. Each call asks for a few metrics and has
/// a time limit.
///
/// The caller stores the answers, so that a later call continues with the remaining metrics. Metrics that are too
/// expensive together are requested one at a time; a metric that is too expensive by itself is skipped for a while.
final class Conversions: Sendable {
    /// Why a metric has no new sums.
    enum Problem: String, Error {
        case unavailable
        /// Analytics could not process the events in time.
        case tooLarge = "too-large"
        /// No values can have the returned sums.
        case unusable
    }

    struct Limits: Sendable {
        /// The number of metrics per call.
        var metrics = 3
        /// The time limit of a call. Analytics gives up after 24 seconds.
        var call: Duration = .seconds(25)
        /// No call starts later than this after the first one. The client waits for all of them, and the gateway's
        /// limit is a minute.
        var lastCall: Duration = .seconds(15)
        /// The maximum number of experiments measured at a time; results of others keep their previous values.
        var experiments = 4
        /// How long an answer stays valid, in seconds.
        var validity: TimeInterval = 30
        /// How long a metric that was too expensive by itself is skipped. One that was too expensive together with
        /// others is asked for separately for as long.
        var pause: Duration = .seconds(300)
    }

    /// The experiment that the metrics belong to.
    struct Subject: Hashable {
        var space: AppSpace
        var experiment: String
        var bucketVersion: Int
    }

    /// A metric that needs a new answer.
    struct OutdatedMetric: Sendable {
        var metric: ExperimentQuestion.Metric
        /// The time of the last answer; nil if there is none.
        var asOf: Date?
    }

    private struct HeavyMetric: Hashable {
        var subject: Subject
        /// The text of the metric's question.
        var question: String
    }

    private struct State {
        var underWay: Set<Subject> = []
        /// Metrics that were too expensive, and whether they were asked for separately.
        var heavy: [HeavyMetric: (isAlone: Bool, until: ContinuousClock.Instant)] = [:]
    }

    private static let maximumRemembered = 1_000

    let limits: Limits
    private let ask: @Sendable (ExperimentQuestion) async throws -> ExperimentSums
    private let state = Mutex(State())

    init(limits: Limits = Limits(), ask: @escaping @Sendable (ExperimentQuestion) async throws -> ExperimentSums) {
        self.limits = limits
        self.ask = ask
    }

    convenience init(of analytics: ServiceAddress, calls: ServiceCalls) {
        let limits = Limits()
        self.init(limits: limits) { question in
            let answer = try await calls.post(
                "/internal/analytics/experiments", question, to: analytics, upTo: 1 << 20, within: limits.call)
            return try JSONDecoder().decode(ExperimentSums.self, from: Data(answer.body.readableBytesView))
        }
    }

    /// Asks for metrics until all are answered or the time is up: first those without an answer, then those with the
    /// oldest one.
    ///
    /// - Parameters:
    ///   - question: The question without its metrics.
    ///   - store: Stores the sums of a metric. Its errors are rethrown and end the loop.
    /// - Returns: The problems by metric. Metrics that were not requested yet have neither sums nor a problem.
    func sums(
        of outdated: [OutdatedMetric], _ question: ExperimentQuestion, of subject: Subject,
        store: (ExperimentQuestion.Metric, ExperimentSums) async throws -> Problem?
    ) async throws -> [String: Problem] {
        guard begin(subject) else { return [:] }
        defer { state.withLock { _ = $0.underWay.remove(subject) } }
        var (parts, problems) = plan(outdated, subject)
        let start = ContinuousClock.now
        var index = 0
        while index < parts.count, index == 0 || .now - start < limits.lastCall {
            var part = question
            part.metrics = parts[index]
            index += 1
            do {
                let sums = try await answer(to: part)
                for metric in part.metrics { problems[metric.name] = try await store(metric, sums) }
            } catch Problem.tooLarge {
                remember(part.metrics, subject)
                if part.metrics.count == 1 {
                    problems[part.metrics[0].name] = .tooLarge
                } else {
                    parts += part.metrics.map { [$0] }
                }
            } catch let problem as Problem {
                // Further calls would fail too.
                for metric in part.metrics { problems[metric.name] = problem }
                break
            }
        }
        return problems
    }

    /// Groups the metrics into calls. Metrics that were too expensive together are asked for separately.
    private func plan(_ outdated: [OutdatedMetric], _ subject: Subject) -> (
        parts: [[ExperimentQuestion.Metric]], problems: [String: Problem]
    ) {
        let heavy = state.withLock { state in
            state.heavy = state.heavy.filter { $0.value.until > .now }
            return state.heavy.mapValues(\.isAlone)
        }
        var light: [ExperimentQuestion.Metric] = [], separate: [ExperimentQuestion.Metric] = [],
            problems: [String: Problem] = [:]
        for metric in outdated.sorted(by: { ($0.asOf ?? .distantPast) < ($1.asOf ?? .distantPast) }).map(\.metric) {
            switch heavy[HeavyMetric(subject: subject, question: metric.text)] {
            case nil: light.append(metric)
            case false: separate.append(metric)
            case true: problems[metric.name] = .tooLarge
            }
        }
        let parts = stride(from: 0, to: light.count, by: limits.metrics).map {
            Array(light[$0..<min($0 + limits.metrics, light.count)])
        }
        return (parts + separate.map { [$0] }, problems)
    }

    /// Returns false if the same experiment is already being measured, or too many are.
    private func begin(_ subject: Subject) -> Bool {
        state.withLock { $0.underWay.count < limits.experiments && $0.underWay.insert(subject).inserted }
    }

    private func remember(_ metrics: [ExperimentQuestion.Metric], _ subject: Subject) {
        state.withLock { state in
            if state.heavy.count >= Self.maximumRemembered { state.heavy = [:] }
            for metric in metrics {
                let key = HeavyMetric(subject: subject, question: metric.text)
                state.heavy[key] = (metrics.count == 1, .now + limits.pause)
            }
        }
    }

    private func answer(to question: ExperimentQuestion) async throws -> ExperimentSums {
        do {
            return try await withThrowingTaskGroup(of: ExperimentSums.self) { [ask, limits] group in
                group.addTask { try await ask(question) }
                group.addTask {
                    try await Task.sleep(for: limits.call)
                    throw OutgoingFailure.timeout
                }
                defer { group.cancelAll() }
                guard let sums = try await group.next() else { throw CancellationError() }
                return sums
            }
        } catch ServiceCalls.Failure.status(422, _), OutgoingFailure.timeout {
            throw Problem.tooLarge
        } catch {
            try Task.checkCancellation()
            throw Problem.unavailable
        }
    }
}

extension ExperimentQuestion.Metric {
    /// JSON, identical for identical questions.
    var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
