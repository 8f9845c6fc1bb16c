import Foundation
import MartletAPI
import MartletHTTP
import NIOCore
import Synchronization

/// Asks analytics what it counted of an experiment's metrics that name an event: a few at a time, each call for a
/// limited time.
///
/// What is answered is for the caller to keep, so that whoever asks again goes on with the others. What is too much in
/// company is asked for alone, and alone not again for a while.
final class Conversions: Sendable {
    /// Why there are no new sums.
    enum Problem: String, Error {
        case unavailable
        /// Analytics did not get through the events in its time.
        case tooLarge = "too-large"
        /// No values can have the sums that it answered.
        case unusable
    }

    struct Limits: Sendable {
        /// Metrics in a call.
        var metrics = 3
        /// Of a call. Analytics gives up after 24 seconds.
        var call: Duration = .seconds(25)
        /// How long after the first call the last one begins. Somebody waits for both, and the gateway a minute.
        var lastCall: Duration = .seconds(15)
        /// Experiments at a time: those beyond are not asked about.
        var experiments = 4
        /// What was answered is not asked again for so long.
        var validity: TimeInterval = 30
        /// What was too much by itself is not asked again for so long, and what was too much in company is asked for
        /// alone.
        var pause: Duration = .seconds(300)
    }

    /// Whose metrics they are.
    struct Subject: Hashable {
        var space: ConfigSpace
        var experiment: String
        var bucketVersion: Int
    }

    /// A metric of which there is no new answer.
    struct Wanted: Sendable {
        var metric: ExperimentQuestion.Metric
        /// When it was answered last; nil: never.
        var asOf: Date?
    }

    private struct Heavy: Hashable {
        var subject: Subject
        /// The metric's question.
        var question: String
    }

    private struct State {
        var underWay: Set<Subject> = []
        /// What was too much, and whether by itself.
        var heavy: [Heavy: (isAlone: Bool, until: ContinuousClock.Instant)] = [:]
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

    /// Asks for metrics, those first that were never answered, then those whose answer is oldest, until they are there
    /// or the time is over.
    ///
    /// - Parameters:
    ///   - question: without metrics.
    ///   - keep: takes the sums of a metric; what it throws ends the asking.
    /// - Returns: what there is to say of metrics that have no new sums. Others that are not there were not asked for
    ///   yet.
    func sums(
        of wanted: [Wanted], _ question: ExperimentQuestion, of subject: Subject,
        keep: (ExperimentQuestion.Metric, ExperimentSums) async throws -> Problem?
    ) async throws -> [String: Problem] {
        guard begin(subject) else { return [:] }
        defer { state.withLock { _ = $0.underWay.remove(subject) } }
        var (pieces, problems) = plan(wanted, subject)
        let start = ContinuousClock.now
        var place = 0
        while place < pieces.count, place == 0 || .now - start < limits.lastCall {
            var part = question
            part.metrics = pieces[place]
            place += 1
            do {
                let sums = try await answer(to: part)
                for metric in part.metrics { problems[metric.name] = try await keep(metric, sums) }
            } catch Problem.tooLarge {
                remember(part.metrics, subject)
                if part.metrics.count == 1 {
                    problems[part.metrics[0].name] = .tooLarge
                } else {
                    pieces += part.metrics.map { [$0] }
                }
            } catch let problem as Problem {
                // The next one would not be answered either.
                for metric in part.metrics { problems[metric.name] = problem }
                break
            }
        }
        return problems
    }

    /// Nil for metrics that have to be asked for alone.
    private func plan(_ wanted: [Wanted], _ subject: Subject) -> (
        pieces: [[ExperimentQuestion.Metric]], problems: [String: Problem]
    ) {
        let heavy = state.withLock { state in
            state.heavy = state.heavy.filter { $0.value.until > .now }
            return state.heavy.mapValues(\.isAlone)
        }
        var light: [ExperimentQuestion.Metric] = [], alone: [ExperimentQuestion.Metric] = [],
            problems: [String: Problem] = [:]
        for metric in wanted.sorted(by: { ($0.asOf ?? .distantPast) < ($1.asOf ?? .distantPast) }).map(\.metric) {
            switch heavy[Heavy(subject: subject, question: metric.text)] {
            case nil: light.append(metric)
            case false: alone.append(metric)
            case true: problems[metric.name] = .tooLarge
            }
        }
        let pieces = stride(from: 0, to: light.count, by: limits.metrics).map {
            Array(light[$0..<min($0 + limits.metrics, light.count)])
        }
        return (pieces + alone.map { [$0] }, problems)
    }

    /// False while somebody else asks the same, or too much is asked.
    private func begin(_ subject: Subject) -> Bool {
        state.withLock { $0.underWay.count < limits.experiments && $0.underWay.insert(subject).inserted }
    }

    private func remember(_ metrics: [ExperimentQuestion.Metric], _ subject: Subject) {
        state.withLock { state in
            if state.heavy.count >= Self.maximumRemembered { state.heavy = [:] }
            for metric in metrics {
                state.heavy[Heavy(subject: subject, question: metric.text)] = (metrics.count == 1, .now + limits.pause)
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
    /// JSON, the same for the same question.
    var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
