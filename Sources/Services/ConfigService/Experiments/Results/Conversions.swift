import Foundation
import MartletAPI
import MartletHTTP
import NIOCore
import Synchronization

/// What analytics counted of an experiment's metrics that name an event.
struct Conversions: Sendable {
    /// Why there are no new ones.
    enum Problem: String, Error {
        case unavailable
        /// Analytics did not get through the events in its time.
        case tooLarge = "too-large"
    }

    /// The same question is not asked again for so long.
    static let validity: Duration = .seconds(30)
    private static let maximumRemembered = 500

    private struct Remembered {
        var question: ExperimentQuestion
        var answer: ExperimentSums
        var until: ContinuousClock.Instant
    }

    private let ask: @Sendable (ExperimentQuestion) async throws -> ExperimentSums
    private let remembered = Store()

    private final class Store: Sendable {
        let answers = Mutex<[String: Remembered]>([:])
    }

    init(ask: @escaping @Sendable (ExperimentQuestion) async throws -> ExperimentSums) {
        self.ask = ask
    }

    /// Somebody waits for the answer; a statement of analytics takes 20 seconds at most.
    init(of analytics: ServiceAddress, calls: ServiceCalls) {
        self.init { question in
            let answer = try await calls.post("/internal/analytics/experiments", question, to: analytics, upTo: 1 << 20, within: .seconds(25))
            return try JSONDecoder().decode(ExperimentSums.self, from: Data(answer.body.readableBytesView))
        }
    }

    /// As many questions as the metrics need, one after the other. An answer is as of the moment when it was asked for, half a minute ago at most.
    func sums(of question: ExperimentQuestion) async throws(Problem) -> ExperimentSums {
        var all = ExperimentSums(units: [:], multipleExposures: 0, metrics: [:])
        for start in stride(from: 0, to: question.metrics.count, by: ExperimentQuestion.maximumMetrics) {
            var part = question
            part.metrics = Array(question.metrics[start..<min(start + ExperimentQuestion.maximumMetrics, question.metrics.count)])
            let sums = try await answer(to: part)
            (all.units, all.multipleExposures) = (sums.units, sums.multipleExposures)
            all.metrics.merge(sums.metrics) { $1 }
        }
        return all
    }

    private func answer(to question: ExperimentQuestion) async throws(Problem) -> ExperimentSums {
        let key = "\(question.appID) \(question.environment.rawValue) \(question.experiment) \(question.metrics.first?.name ?? "")"
        // The end is now, mostly.
        func isSame(_ other: ExperimentQuestion) -> Bool {
            var other = other
            other.to = question.to
            return other == question
        }
        if let known = remembered.answers.withLock({ $0[key] }), known.until > .now, isSame(known.question) { return known.answer }
        do {
            let answer = try await ask(question)
            remembered.answers.withLock { answers in
                if answers.count >= Self.maximumRemembered { answers.removeAll() }
                answers[key] = Remembered(question: question, answer: answer, until: .now + Self.validity)
            }
            return answer
        } catch ServiceCalls.Failure.status(422, _) {
            throw .tooLarge
        } catch {
            throw .unavailable
        }
    }
}
